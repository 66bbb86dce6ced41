"""Local randomisers, one file each; the registry knows them by their wire names."""

from __future__ import annotations

from .grr import GRR
from .oue import OUE
from .registry import REGISTRY, by_id, register

__all__ = ["GRR", "OUE", "REGISTRY", "by_id", "register"]
