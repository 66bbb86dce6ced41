"""Tokens of analysts: random, stored hashed, with an end, compared in constant time."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from hashlib import sha256

import msgspec

from .stores import Store

_FACT = "tokens"
COOKIE = "sottovoce-analyst"
DAY = 86_400


def make_token(
    store: Store, days: float, *, clock: Callable[[], float] = time.time
) -> tuple[str, bytes]:
    """A new token, and its hash; runs inside a transaction. Expired ones are forgotten."""
    token = secrets.token_urlsafe(32)
    now = clock()
    known = [(held, end) for held, end in read_tokens(store) if end > now]
    own = sha256(token.encode()).digest()
    rows = [(held.hex(), end) for held, end in [*known, (own, now + days * DAY)]]
    store.put_fact(_FACT, msgspec.json.encode(rows))
    return token, own


def read_tokens(store: Store) -> list[tuple[bytes, float]]:
    """Every (hash, end); runs inside a transaction."""
    data = store.fact(_FACT)
    rows = [] if data is None else msgspec.json.decode(data, type=list[tuple[str, float]])
    return [(bytes.fromhex(held), end) for held, end in rows]


class Access:
    """Who may see the results."""

    def __init__(
        self, tokens: list[tuple[bytes, float]], *, clock: Callable[[], float] = time.time
    ) -> None:
        self._tokens = tokens
        self._clock = clock

    def allows(self, token: str | None) -> bool:
        """Whether this is a token that has not expired; always looks at all of them."""
        own = sha256((token or "").encode("utf-8", "surrogatepass")).digest()
        now = self._clock()
        allowed = False
        for held, end in self._tokens:
            allowed |= hmac.compare_digest(held, own) and end > now
        return allowed and token is not None
