"""The sentences; each has a file of its own."""

from __future__ import annotations

TESTED = {
    1: "Never let the sampling probability depend on the person's own value: taking part tells.",
    4: "Never claim sampling amplification in the local model where the server sees who reported.",
    5: "Never claim shuffle amplification outside its validity region, or with labelled reports.",
    14: "Never show a weighted estimate over self-chosen privacy levels without saying that it "
    "assumes the levels alike.",
    11: "Never use the published sampling bound as a guarantee; never assume that every item has "
    "holders.",
    13: "Never use LIP's published optimum outside 1/(e^ε+1) ≤ P1 ≤ e^ε/(e^ε+1), and never add LIP "
    "levels up as if they composed like LDP.",
    2: "Never claim PLDP ε_total when the allocation may depend on the data.",
    3: "Never show ε_w or Theorem 3's m·min ε_i as a guarantee.",
    15: "Never draw participants' randomness from a non-cryptographic generator, and never let a "
    "seed reach production code.",
    16: "Never drop missing answers silently.",
    17: "Never infer labels, bins, ranges or minimum counts from private data without "
    "public_data=True.",
    18: "Never randomise the same answer twice by accident: fresh noise is a second release.",
    19: "Never relay shares in clear: a share is sealed to its receiver.",
    21: 'Never say of (ε, δ) that a belief is bounded "except with probability δ": it is not '
    "implied.",
    22: "Never lose or merge promises that speak of different people when adding guarantees.",
    6: "Never use 1/K noise shares when parties may collude or see the result.",
    7: "Never send plain (count share + noise share) messages to the curator.",
    12: "Never let a missing share pass: name the failed items instead.",
    28: "Never open two sums over different sets of senders with the same coins; the sender set is "
    "agreed before any sum is sent, and every member opens one sum per item.",
    29: "Never certify two-stage sampling by what S2 alone sees once the result is published; with "
    "adaptive selection never leave ε* out.",
    30: "Never publish a total or remainder beside suppressed counts, and never set a suppression "
    "threshold without adding the colluding holders.",
    23: "Never print a 95 % interval that covers a single cell less than .93 of the time on the "
    "stress grid without saying so beside it.",
    24: "Never let a name, path, message, log or file size outside the participant's side depend "
    "on true answers.",
    26: "Never accuse without a stated false-alarm rate: an audit corrects for everything it "
    "compares.",
    25: "Never let two processes draw from copied generator state: fresh system entropy for every "
    "release.",
    8: "Never initialise MM (002) from true local marginals.",
    9: "Never forget that budget is per released marginal.",
    10: "Never publish realised sample sizes in SAH, nor |D_k| if neighbours are add/remove.",
    31: "Never open sums over two different sets of parties with the same noise: double masking, "
    "or fresh noise charged again.",
    32: "Never let a release carry noise shares of fewer parties than its account assumes.",
    33: "Never exchange sampled ids or publish sample sizes (SAH, SAV): unsampled rows are zeroed "
    "in secret.",
    27: "Never store or log who sent a report, when to the second, or in which order.",
    20: "Never let the dealer of correlated randomness be the curator, or any recipient of the "
    "result.",
}
