"""The assumptions of promises, in words. They are for readers only and decide nothing."""

from __future__ import annotations

OWN_DEVICE = (
    "answers are randomised on the participant's own side, with the system's randomness; each "
    "report counted here is sent once, and nothing else about the answer is sent"
)
WHO_ANSWERED = "who gave no answer is public knowledge, as the study declares"

# Levels and rates
LEVEL_IS_PUBLIC = (
    "which level someone chose is public; it was chosen without regard to the answer, and what "
    "the choice itself reveals is not protected"
)
SAME_LEVEL = (
    "they chose this level every time; whoever chose different levels is promised the sum of those "
    "that they chose"
)
ANY_LEVEL = f"{LEVEL_IS_PUBLIC}; this epsilon holds whatever levels they chose"
RATE_IS_PUBLIC = (
    "whether someone reports is drawn at random, at a public rate that was set without regard to "
    "the answer; "
    "the collector sees who reports, so sampling adds no protection"
)

# Records
INDEPENDENT = (
    "how a person divides epsilon, and which attributes they report, was decided without "
    "regard to the answers; otherwise nothing is promised"
)
HIDDEN = (
    "nobody relies on the allocation being secret: it is not sent, but how many bits are set "
    "reveals much of it"
)
OWN_PART = "the answer has this allocation, which is the person's own part of the total"
UP_TO_PART = (
    "the answer has the largest allocation possible; with a smaller one, its own part of the "
    "total, that is its epsilon"
)
EQUAL_PART = "the answer has its own part of the total, the same for every answer"
ANY_PART = "the whole total may be spent on any answer: there is no cap per answer"

# Samples and shuffling
KEPT_SAMPLE = (
    "someone trusted keeps to themselves who is in the sample and releases nothing but the result"
)
NOT_BY_DATA = "being chosen depends on nobody's data"
EVERYONE_SENDS = "everyone sends one report, whether chosen or not, and nobody else learns which"
SHUFFLER = (
    "a trusted shuffler mixes the reports and strips names, times, order and every label, "
    "before anyone else sees them"
)
SHUFFLER_LABELS = (
    "a trusted shuffler mixes the reports and strips names, times, order and everything else "
    "but the label, before anyone else sees them; the label depends on nobody's answer"
)
EVERY_ROUND = "everything that the promise of one round assumes holds in every round"
