"""What the software must never do, one test file per sentence."""
