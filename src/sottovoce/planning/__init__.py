"""From a requirement to ranked designs."""
