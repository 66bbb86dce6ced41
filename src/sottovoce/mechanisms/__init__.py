"""Local randomisers, one file each; the registry knows them by their wire names."""

from __future__ import annotations

from .duchi import Duchi as Duchi
from .grr import GRR as GRR
from .hadamard import HadamardResponse as HadamardResponse
from .hybrid import Hybrid as Hybrid
from .lip import LIP as LIP
from .olh import OLH as OLH
from .oue import OUE as OUE
from .piecewise import Piecewise as Piecewise
from .projective import ProjectiveGeometryResponse as ProjectiveGeometryResponse
from .registry import REGISTRY as REGISTRY
from .registry import by_id as by_id
from .registry import register as register
from .subset import SubsetSelection as SubsetSelection
from .sue import SUE as SUE
