"""Reports: what leaves a participant, in memory, on the wire and in files."""

from __future__ import annotations

from .batch import Column, Expected, Reports
from .files import ReportWriter, read_batches
from .wire import decode, encode

__all__ = ["Column", "Expected", "ReportWriter", "Reports", "decode", "encode", "read_batches"]
