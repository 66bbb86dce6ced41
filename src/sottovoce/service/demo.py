"""Made-up people who answer through the real door while the analyst's page fills."""

from __future__ import annotations

import asyncio
from os import urandom
from typing import Any

import numpy as np

from ..domain.values import Attribute
from ..mechanisms import GRR
from ..participation import Levels
from ..records import Records
from ..study import Study
from .client import Server
from .submission import ID_BYTES, pack

#: How many of a hundred made-up people give each answer.
COMMUTE = {"car": 44, "public transport": 23, "bicycle": 14, "on foot": 7, "working from home": 12}
MENU = {"very strong": 0.5, "strong": 1.0, "normal": 2.0, "weak": 4.0}
CHOSEN = (1, 3, 4, 2)
SPORT, AGE = ["never", "weekly", "daily"], ["under 30", "30 to 59", "60 and over"]
#: Fractions of people by sport (down) and age (across): younger people do more of it.
TOGETHER = np.array([[0.06, 0.18, 0.14], [0.12, 0.20, 0.08], [0.12, 0.07, 0.03]])
_MOST_PEOPLE = 200_000
_PAUSE = 0.15


def demo_study() -> Study:
    """A question with a menu, and records of two attributes."""
    commute = Levels.of(GRR, Attribute("commute", list(COMMUTE)), MENU)
    habits = [Attribute("sport", SPORT), Attribute("age", AGE)]
    return Study(
        "How we get to work", (commute, Records(habits, epsilon_average=1.0, name="habits"))
    )


async def answer(study: Study, address: str) -> None:
    """Groups of people answer, more and more of them, until there are enough.

    Where this is cancelled, nobody waits for the last group: the server that answers it may run in
    the same loop.
    """
    server = Server(address, patience=5.0)
    choice = np.random.default_rng()  # who people are is made up; their reports are not
    people = 0
    while people < _MOST_PEOPLE:
        many = 1 + min(people // 20, 500)
        await asyncio.to_thread(_send, study, server, choice, many)
        people += many
        await asyncio.sleep(_PAUSE)


def _send(study: Study, server: Server, choice: np.random.Generator, many: int) -> None:
    """One group: randomised as on their own devices, and sent."""
    modes = choice.choice(list(COMMUTE), many, p=np.array(list(COMMUTE.values())) / 100)
    levels = choice.choice(list(MENU), many, p=np.array(CHOSEN) / sum(CHOSEN))
    cells = choice.choice(TOGETHER.size, many, p=TOGETHER.reshape(-1))
    commute: Any = study.collection("commute")
    habits: Any = study.collection("habits")
    parts = [
        commute.randomise(modes.tolist(), level=levels.tolist()),
        habits.randomise(
            {"sport": [SPORT[c // 3] for c in cells], "age": [AGE[c % 3] for c in cells]}
        ),
    ]
    server.post(pack(urandom(ID_BYTES), [part.to_bytes() for part in parts]))
