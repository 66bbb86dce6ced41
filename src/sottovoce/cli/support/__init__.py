"""Common parts of the commands; `command` has what all of them use, `options` their options."""
