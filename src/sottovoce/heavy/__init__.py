"""Frequent texts that nobody declared: a prefix tree over a pure mechanism."""

from .hitters import HeavyHitters

__all__ = ["HeavyHitters"]
