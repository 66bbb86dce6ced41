"""Which rosters are allowed: who may take part together, and who must not be the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import StudyError
from .batch import Role

if TYPE_CHECKING:
    from .keys import Party

_WITH_PARTIES = (Role.PARTY, Role.CURATOR, Role.DEALER)


def check_roster(parties: Sequence[Party]) -> None:
    """Refuse rosters that nobody should take part in."""
    for what, values in (
        ("name", [party.id for party in parties]),
        ("key", [party.key for party in parties]),
    ):
        if len(set(values)) < len(values):
            raise StudyError(f"two parties of the roster have the same {what}")
    _check_certificates(parties)
    relays = [party for party in parties if party.relay]
    if len(relays) != 1:
        raise StudyError(
            f"{len(relays)} parties of the roster are the relay; exactly one must have relay = true"
        )
    roles = {party.role for party in parties}
    if Role.S1 in roles and relays[0].role is not Role.S1:
        raise StudyError(
            f"the relay is {relays[0].id}, but it must be S1: who sends to whom shows which "
            "items people report, and nobody but S1 may know that"
        )
    if Role.PARTY in roles or Role.DEALER in roles:
        _check_organisations(parties, relays[0])


def _check_certificates(parties: Sequence[Party]) -> None:
    without = [party.id for party in parties if party.certificate is None]
    if len(without) == len(parties):
        return
    if without:
        raise StudyError(
            f"some parties of the roster have a certificate, and {', '.join(without)} none; all "
            "need one, or nobody"
        )
    if len({party.verify_key for party in parties}) < len(parties):
        raise StudyError("two parties of the roster have certificates of the same key")


def _check_organisations(parties: Sequence[Party], relay: Party) -> None:
    others = [party for party in parties if party.role not in _WITH_PARTIES]
    if others:
        raise StudyError(
            f"{others[0].id} is a {others[0].role.value}; besides parties with data of their own a "
            "roster has a curator, and a dealer where the protocol needs one"
        )
    curators = [party for party in parties if party.role is Role.CURATOR]
    if len(curators) != 1 or relay.role is not Role.CURATOR:
        raise StudyError(
            f"a roster of parties has {len(curators)} curators, and {relay.id} is the relay; "
            "there must be one curator, and it is the relay"
        )
    dealers = [party.id for party in parties if party.role is Role.DEALER]
    if len(dealers) > 1:
        raise StudyError(f"{', '.join(dealers)} are dealers; a roster has at most one")
    if Role.PARTY not in {party.role for party in parties}:
        raise StudyError("a roster with a dealer has no parties that it could deal to")
