"""Local randomisers, one file each; the registry knows them by their wire names."""

from __future__ import annotations

from .duchi import Duchi
from .grr import GRR
from .hadamard import HadamardResponse
from .hybrid import Hybrid
from .lip import LIP
from .olh import OLH
from .oue import OUE
from .piecewise import Piecewise
from .projective import ProjectiveGeometryResponse
from .registry import REGISTRY, by_id, register
from .subset import SubsetSelection
from .sue import SUE

__all__ = [
    "GRR",
    "LIP",
    "OLH",
    "OUE",
    "REGISTRY",
    "SUE",
    "Duchi",
    "HadamardResponse",
    "Hybrid",
    "Piecewise",
    "ProjectiveGeometryResponse",
    "SubsetSelection",
    "by_id",
    "register",
]
