"""Speed, measured: against the machine's limit and against peers."""
