"""Headers of every answer, and answers to what cannot be done.

These are problem+json (RFC 9457), in the same words for everyone: what is unknown and what is
forbidden look the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

JSON = "application/json"
PROBLEM = "application/problem+json"
#: Pages have no script or style inside, and ask nobody but this server.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"interest-cohort=()"),
]
NO_STORE = (b"cache-control", b"no-store")
#: The same as bytes, for answers that are written without ASGI.
LINES = b"".join(name + b": " + value + b"\r\n" for name, value in [*HEADERS, NO_STORE])


@dataclass(frozen=True)
class Problem:
    """A kind of refusal."""

    name: str  # ends the type, urn:sottovoce:problem:NAME
    status: int
    title: str
    detail: str  # what to do about it
    retry: int = 0  # seconds after which the same may be sent again; 0 where that would not help

    def body(self, detail: str = "") -> bytes:
        """The answer's content."""
        about = {
            "type": f"urn:sottovoce:problem:{self.name}",
            "title": self.title,
            "status": self.status,
            "detail": detail or self.detail,
        }
        return msgspec.json.encode(about)

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What goes with the content."""
        headers = [(b"content-type", PROBLEM.encode())]
        if self.retry:
            headers.append((b"retry-after", str(self.retry).encode()))
        return headers


ALL = {
    problem.name: problem
    for problem in (
        Problem("malformed", 400, "Malformed request", "This is not a request of this protocol."),
        Problem("code", 403, "No valid invitation", "The study is by invitation. The code is "
                "missing or mistyped, or was used before; nothing was stored."),
        Problem("unknown", 404, "Nothing here", "There is nothing here, or nothing that you may "
                "see. Analysts open the link that `sottovoce serve` printed."),
        Problem("method", 405, "Method not allowed", "Use the methods in /api/v1/openapi.json."),
        Problem("slow", 408, "Too slow", "The request did not arrive in time; send it again."),
        Problem("conflict", 409, "Another submission has this id", "The same id came with other "
                "bytes. A retry sends the same bytes; new reports need a new random id."),
        Problem("closed", 410, "The collection is closed", "No more reports are accepted."),
        Problem("large", 413, "Too large", "Send at most 10,000 reports in one submission."),
        Problem("type", 415, "Unsupported type", "Send application/octet-stream, not compressed."),
        Problem("invalid", 422, "Invalid reports", "Nothing was stored."),
        Problem("rate", 429, "Too many requests", "Slow down, then send the same bytes again.", 2),
        Problem("failed", 500, "Internal error", "Nothing was acknowledged; send it again later."),
        Problem("busy", 503, "Busy", "Nothing was stored; send the same bytes again.", 2),
        Problem("store", 503, "The store is not available", "Nothing was acknowledged; send the "
                "same bytes again.", 5),
    )
}  # fmt: skip
