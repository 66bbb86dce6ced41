"""What the command line, a service and engines share: files of answers, reports and counts."""
