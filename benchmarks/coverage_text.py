"""The text of docs/coverage.md, which `benchmarks.coverage` completes."""

TEXT = """# Interval coverage

Every estimate comes with a 95 % interval. The target is that it covers the true fraction of **each
single value** at least 93 % of the time: with few people, with fractions of 0 and 1, at small and
large epsilon, with many values, and when people at different levels answer differently. This page
is written by `python -m benchmarks.coverage` ({runs} runs for each simulated cell, {seconds} s); a
small part of the grid is checked by the tests (`tests/intervals`). With this number of runs, a
simulated coverage of 0.95 has a standard error of {error:.3f}, and each row shows the lowest of
several values, so rows somewhat below 0.95 are expected. A row whose lowest value was below {low}
was measured again with {long:,} runs (a standard error of {long_error:.4f}) and shows only these.

## How the intervals are computed

The noise of a report depends on the true fraction. The usual normal approximation plugs in the
*estimated* fraction, which fails when there are few reports or few noise events: ten reports
without a single "yes" would give an interval of width zero. Sottovoce therefore uses score
intervals: an interval contains every fraction that the counts do not reject, with the variance
evaluated *at that fraction* and a continuity correction, because counts are integers
({{py:mod}}`sottovoce.estimate.intervals`). A biased estimate (projected, maximum likelihood, shrunk
levels) is shown with the interval of the unbiased estimate behind it.

At confidences above 95 %, as simultaneous intervals need them for each value, the skewness of rare
noise is allowed for as well: one end misses more often than the other, and they no longer even out.

Sums and other combinations of values are tested in the same way, at the largest noise that answers
with this combination can have. With more than 20 reports, or more than 200 under Hadamard response,
projective geometry response and LIP, combinations with different weights are put together from the
intervals of the values and their correlations, as estimated, but no side is shorter than a normal
interval's. Means of scores have normal intervals that allow for the noise of people with extreme
scores. The last table tests these, too.

## Single counts, computed exactly

For 1 to 1,000 people, epsilon from 0.1 to 20, and fractions from 0 to 1. Nothing is simulated.

{pure}

## Other mechanisms, simulated

The lowest coverage over all values and over three populations: everyone gives the same answer,
answers are spread evenly, or nearly everyone gives one of two answers.

{linear}

## Few people at several levels and rates, simulated

{ways}

## Levels whose people answer differently, simulated

8,000 people, equally many at each level. Where the strictest level differs by 1 − 1/d, all of its
people give the same answer. The columns `james-stein` (the default) and `random-effects` are
squared errors relative to the post-stratified estimate; below 1 is better. Coverage is that of the
default's intervals.

{levels}

## Means of few people's numbers, simulated

The lowest coverage over three populations: one in ten at a bound and the others at the other one,
answers spread evenly, or skewed. People with extreme numbers may not report, or may not have been
asked; the intervals allow for this ({{py:mod}}`sottovoce.estimate.mean_intervals`).

{means}

{combinations}"""
