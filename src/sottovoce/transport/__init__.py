"""Messages between roles, and drivers that carry them; no mathematics and no privacy here.

batch        Batch: many messages of one kind, column by column; Role
wire         the bytes of a batch, strict
machine      Machine: a role as a state machine, `step(state, inbox) → (state, outbox)`
in_process   every role in this process, with what each of them saw and what it cost
network      one party of a run between machines: `serve` is the relay, `take_part` any other
playing      a machine from the first round to the last, resumed from its journal
keys         KeyPair, and the roster that pins everyone's key
certificates, tls   the parties' certificates, and TLS between them
sealing      parcels: messages sealed to the receiver's key; post: batches as parcels, and back
relay        parcels from everyone to everyone, round by round; server, client: over HTTP
office       a party's way to the relay
journal      what a process must remember to go on after a crash
sessions     which sessions a key has taken part in

A protocol is a list of machines. A driver moves batches between them and closes one round after
the other; machines do not know which driver it is.
"""

from __future__ import annotations

from .batch import EVERYONE, Batch, Role
from .in_process import Cost, Driven, Views, drive
from .machine import Inbox, Machine, Outbox
from .wire import Envelope, decode_batch, encode_batch

__all__ = [
    "EVERYONE",
    "Batch",
    "Cost",
    "Driven",
    "Envelope",
    "Inbox",
    "Machine",
    "Outbox",
    "Role",
    "Views",
    "decode_batch",
    "drive",
    "encode_batch",
]
