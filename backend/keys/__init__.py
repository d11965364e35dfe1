"""Named keys: who besides the owner of a home may ask its service, for what, and until when.

`ring` makes, finds and takes back keys, `file` keeps them in the home, `shared` where several replicas of a service find them.
"""

from __future__ import annotations

from headwater.backend.keys.model import NamedKey
from headwater.backend.keys.ring import KeyRing, is_tenant, ring_of

__all__ = ["KeyRing", "NamedKey", "is_tenant", "ring_of"]
