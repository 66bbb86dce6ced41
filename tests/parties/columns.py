"""Columns of several parties for tests, and the table that they have together."""

from __future__ import annotations

import numpy as np

import sottovoce as sv
from sottovoce.parties import machines
from sottovoce.parties.vertical import Vertical


def split(sizes, rows, seed=0):
    """Schemas, tables and the plaintext counts: one attribute per party, rows in other orders."""
    random = np.random.default_rng(seed)
    schemas, frames, codes = {}, {}, []
    keys = np.arange(100, 100 + rows)
    for k, size in enumerate(sizes):
        name, column = "ABCDEFGH"[k], random.integers(0, size, rows)
        order = random.permutation(rows)
        schemas[name] = sv.Schema([sv.Attribute(name.lower(), size)])
        frames[name] = {"person_id": keys[order], name.lower(): column[order]}
        codes.append(column)
    table = np.zeros(sizes, np.int64)
    np.add.at(table, tuple(codes), 1)
    return schemas, frames, table


def study(schemas, **options):
    """A table of all attributes in order; budgets rise from party to party."""
    names = [name.lower() for name in schemas]
    budgets = {name: 0.5 + k for k, name in enumerate(schemas)}
    return Vertical(schemas, names, budgets, **options)


def without_noise(monkeypatch):
    """Leave the noise out, so that opened sums can be compared with counts."""
    monkeypatch.setattr(
        machines, "noise_shares", lambda r, party, source: np.zeros(r.cells, np.int64)
    )


def opened(run):
    """The opened sums by the name of their release."""
    return {name: cells for one in run.aggregates for name, cells in one.tables.items()}
