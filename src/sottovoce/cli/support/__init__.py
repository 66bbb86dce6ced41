"""Common parts of the commands."""
