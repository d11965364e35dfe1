"""Named keys give people other than the owner access to a service, with scopes and an expiry.

`ring` creates, finds and revokes keys. `file` stores them in the home, `shared` in the database of several replicas.
"""

from __future__ import annotations

from headwater.backend.access.keys.model import NamedKey
from headwater.backend.access.keys.ring import KeyRing, is_tenant, ring_of

__all__ = ["KeyRing", "NamedKey", "is_tenant", "ring_of"]
