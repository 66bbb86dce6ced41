"""What is promised, to whom, against whom, and assuming what.

types         Notion, Neighbours, Against, Unit: data that decides what adds up
assumptions   the sentences that promises assume
words         promises in plain words, rendered last
promise       Promise
guarantee     Guarantee: promises that hold together; composition, or refusal
"""

from .assumptions import OWN_DEVICE, WHO_ANSWERED
from .guarantee import Guarantee, composed
from .promise import Promise
from .types import DP, LDP, LIP, Against, Neighbours, Notion, Protected, Unit

__all__ = [
    "DP",
    "LDP",
    "LIP",
    "OWN_DEVICE",
    "WHO_ANSWERED",
    "Against",
    "Guarantee",
    "Neighbours",
    "Notion",
    "Promise",
    "Protected",
    "Unit",
    "composed",
]
