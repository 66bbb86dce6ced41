"""Empirical lower bounds against a promise."""
