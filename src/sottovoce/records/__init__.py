"""Records of several attributes with personal budgets, and their distributions."""

from __future__ import annotations

from .records import Records

__all__ = ["Records"]
