"""Estimates with their errors, tables, and groups of them combined."""
