"""Which addresses lead to a server."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit


def reachable(address: str) -> list[str]:
    """Addresses to type into a browser: this machine's own one first, then the network's."""
    parts = urlsplit(address)
    if parts.hostname not in ("0.0.0.0", "::"):  # noqa: S104
        return [address]
    known = [f"{parts.scheme}://127.0.0.1:{parts.port}"]
    network = _network_address()
    if network is not None:
        known.append(f"{parts.scheme}://{network}:{parts.port}")
    return known


def _network_address() -> str | None:
    """The address of this machine in its network; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # reserved for documentation
            address: str = probe.getsockname()[0]
        except OSError:
            return None
    return address
