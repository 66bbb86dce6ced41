"""Records of several attributes with personal budgets, and the distributions in them."""

from __future__ import annotations

from .records import Records

__all__ = ["Records"]
