"""The contract of one collection: questions, records, values and privacy, in a TOML file.

::

    format = 1
    title = "How we get to work"

    [[question]]
    name = "commute"
    values = ["car", "bike", "train", "foot"]    # or edges = [0, 18, 65, inf] or range = [0, 120]
    labels = ["by car", "by bike", "by train", "on foot"]    # what tables call them; optional
    missing = "value"                            # or "refuse" (the default), or "public"
    mechanism = "oue"
    epsilon = 1.0                                # or levels = {strong = 0.5, normal = 2}
    rate = 0.1                                   # or rate = [0.05, 0.1, 0.5], or everyone reports

    [[records]]                                  # several attributes, reported together
    name = "health"
    epsilon_average = 2.0                        # for each reported attribute
    public = false                               # whether everyone's allocation is sent along
    floor = 0.0                                  # the least epsilon of an attribute

    [[records.attribute]]                        # of the [[records]] above it
    name = "smokes"
    values = ["yes", "no"]                       # or edges; missing as for a question

A level may also be a table with entries of its own, which win over those of the question:
``weak = {epsilon = 4, mechanism = "grr", rate = 0.5}``.

The digest of the canonical form is bound into every report, so that reports made under one
contract are never counted under another.
"""

from __future__ import annotations

from .study import FORMAT, Study

__all__ = ["FORMAT", "Study"]
