"""The whole errata page."""

from __future__ import annotations

from . import (
    fair_frequency_protocols,
    information_privacy,
    node_sampling,
    party_marginals,
    personal_records,
)
from .errata import VERDICTS

PAPERS = (
    fair_frequency_protocols.PAPER,
    node_sampling.PAPER,
    party_marginals.PAPER,
    information_privacy.PAPER,
    personal_records.PAPER,
)

HEAD = """\
# Errata of the papers

Sottovoce implements the methods of five papers. Some of their statements do not hold. This page
lists them, each with a counterexample, and says what Sottovoce does instead. Published methods
remain available under explicit names, for comparison; no default and no promise rests on them.

The page is written by `python -m tests.papers`. Every number in a counterexample is computed by
that command, exactly or with a seeded simulation, and `tests/papers` fails when the page shows
anything else.

| verdict | meaning |
|---|---|
"""

FOOT = """\
## What holds

Among what we checked and found to hold: in the first paper Lemma 3.1, Theorems 3.3 and 3.5,
Theorem 3.4 as long as only S2 looks, and the algebra of Lemmas 3.3 and 3.4 for the total variance;
in the second Theorems 2.1, 3.1 and 3.4 and the limits of the variances for rare values; in the
third what stretching and segmentation cost each party, and that sampling columns is worse than the
smallest ε; in the fourth Propositions 1 and 2, the optimum of Proposition 3 with (20), the
optimum of Proposition 4, and Theorem 1 where every value is constrained; in the fifth Theorem 2.

## What was not checked

- **Figures and tables measured on real data** are on this page only where a formula of the paper
  itself contradicts them. We do not have the papers' programs, seeds, discretisations or (for
  some) data.
- **The number of Gowalla's cells** in F10, F11 and F24 is inferred from the map window that the
  paper describes.
- **Figure 3 of the second paper** cannot be reproduced as printed, because ε is not given; N7 uses
  an ε of ours.
- **The comparison with LoPub in the fifth paper** takes LoPub's numbers from another publication,
  and its running times depend on the machine.
- **Intermediate lines of proofs** were read but are not listed one by one: the variance in the
  proof of Theorem 5.1 of the second paper, the appendix of the fourth (where the proofs of Theorem
  2 and Proposition 4 are called Theorems 4 and 5).
- **Misprints** were judged from the text of the papers that we have. A lost sign or root, as
  perhaps in F6, F23 and N6, may be the fault of that text. What is computed is what it says.
- **F18** counts what is sent. If Table 1 means what is sent and received, its number is right for
  DPDS, but the two columns of the table then count different things.
- **P3, P5 and P10** use small tables of ours; the papers' data sets are in the
  [benchmarks](parties-benchmarks.md).
"""


def page() -> str:
    """The page, with everything computed."""
    verdicts = "\n".join(f"| {name} | {meaning} |" for name, meaning in VERDICTS.items())
    sections = "\n".join(paper.section for paper in PAPERS)
    return f"{HEAD}{verdicts}\n\n{sections}\n{FOOT}"
