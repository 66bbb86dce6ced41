"""Published formulas and curves that no default uses, kept for comparison."""

from __future__ import annotations

from .information_privacy import Curve, prior_curve, yes_error

__all__ = ["Curve", "prior_curve", "yes_error"]
