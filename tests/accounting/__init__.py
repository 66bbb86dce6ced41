"""Accounts against enumeration, exact fractions and the numbers of the papers."""
