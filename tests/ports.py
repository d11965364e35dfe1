"""Ports that stay free while whoever has one is away, and comes back."""

from __future__ import annotations

import contextlib
import random
import socket

_RANGE = range(20_000, 32_000)  # below the ports that the system chooses for servers and for outgoing connections


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    for port in random.SystemRandom().sample(_RANGE, 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"None of a hundred ports between {_RANGE.start} and {_RANGE.stop} can be bound.")
