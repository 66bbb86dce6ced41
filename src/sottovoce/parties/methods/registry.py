"""All methods by name."""

from __future__ import annotations

from . import Method
from .plain import MH, Independent, Product
from .sampling import SAH, SAV
from .segmentation import MV, PBS, PBSGLS, PBSGaussian
from .shrinkage import MHST, SJS
from .stretching import MM, STARTS, STH

#: Where rows are split; the first is the default.
ROWS: dict[str, Method] = {
    method.name: method
    for method in (SJS(), MHST(), MH(), Independent(), SAH(), STH(), *map(MM, STARTS), Product())
}

#: Where columns are split; the first is the default.
COLUMNS: dict[str, Method] = {
    method.name: method for method in (PBSGLS(), PBS(), PBSGaussian(), MV(), SAV())
}
