"""The sentences, and where each is tested or which part of the product it waits for."""

from __future__ import annotations

TESTED = {
    2: "Never claim PLDP ε_total when the allocation may depend on the data.",
    3: "Never show ε_w or Theorem 3's m·min ε_i as a guarantee.",
    15: "Never draw participants' randomness from a non-cryptographic generator, and never let a "
    "seed reach production code.",
    16: "Never drop missing answers silently.",
    17: "Never infer labels, bins, ranges or minimum counts from private data without "
    "public_data=True.",
    18: "Never randomise the same answer twice by accident: fresh noise is a second release.",
}

WAITING = {
    1: ("personal/sampled", "the sampling probability depends on the person's own value"),
    4: ("personal/sampled", "sampling amplification is claimed in the local model"),
    5: ("accounting", "shuffle amplification is claimed outside its validity"),
    6: ("secure", "noise shares of 1/K are used when parties may collude"),
    7: ("secure", "plain count and noise shares are sent to the curator"),
    8: ("parties", "MM starts from true local marginals"),
    9: ("parties", "the budget per released marginal is forgotten"),
    10: ("parties", "realised sample sizes are published"),
    11: ("accounting", "the published sampling bound is used as a guarantee"),
    12: ("secure", "a missing share passes"),
    13: ("mechanisms/lip", "LIP's optimum is used outside its range, or its levels are added up"),
    14: ("personal/levels", "a weighted estimate hides that it assumes the levels alike"),
    19: ("transport", "shares are relayed in clear"),
    20: ("secure", "the dealer of correlated randomness is the curator"),
}
