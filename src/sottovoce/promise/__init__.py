"""What is promised, to whom, against whom, and assuming what."""
