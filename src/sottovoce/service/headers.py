"""Headers of every answer."""

from __future__ import annotations

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
