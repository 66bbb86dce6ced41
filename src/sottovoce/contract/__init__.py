"""Answers → reports → counts: what every way of collecting has in common."""
