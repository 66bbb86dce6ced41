"""Samplers against the channel they claim, and their rare paths word by word."""
