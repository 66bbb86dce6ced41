"""The race: Sottovoce against the machine's limit and against other libraries.

`make bench` sets up the peers' own environment, measures everything in one run and writes
docs/benchmarks.md; `python -m benchmarks --quick` shows in seconds that it still works.
"""
