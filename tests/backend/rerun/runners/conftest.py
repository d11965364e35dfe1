"""The fixtures of triggers: a home, and a receiver of webhooks."""

from tests.backend.triggers.conftest import home, there

__all__ = ["home", "there"]
