"""The sentences, and where each is tested or which part of the product it waits for."""

from __future__ import annotations

TESTED = {
    13: "Never use LIP's published optimum outside 1/(e^ε+1) ≤ P1 ≤ e^ε/(e^ε+1), and never add LIP "
    "levels up as if they composed like LDP.",
    15: "Never draw participants' randomness from a non-cryptographic generator, and never let a "
    "seed reach production code.",
    16: "Never drop missing answers silently.",
    17: "Never infer labels, bins, ranges or minimum counts from private data without "
    "public_data=True.",
    18: "Never randomise the same answer twice by accident: fresh noise is a second release.",
}

WAITING = {
    1: ("personal/sampled", "the sampling probability depends on the person's own value"),
    2: ("personal/records", "PLDP's total is claimed for an allocation that depends on the data"),
    3: ("personal/records", "ε_w or m·min ε_i is shown as a guarantee"),
    4: ("personal/sampled", "sampling amplification is claimed in the local model"),
    5: ("accounting", "shuffle amplification is claimed outside its validity"),
    6: ("secure", "noise shares of 1/K are used when parties may collude"),
    7: ("secure", "plain count and noise shares are sent to the curator"),
    8: ("parties", "MM starts from true local marginals"),
    9: ("parties", "the budget per released marginal is forgotten"),
    10: ("parties", "realised sample sizes are published"),
    11: ("accounting", "the published sampling bound is used as a guarantee"),
    12: ("secure", "a missing share passes"),
    14: ("personal/levels", "a weighted estimate hides that it assumes the levels alike"),
    19: ("transport", "shares are relayed in clear"),
    20: ("secure", "the dealer of correlated randomness is the curator"),
}
