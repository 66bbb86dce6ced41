"""Files of answers, reports and counts, for the command line, services and engines."""
