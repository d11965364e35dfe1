"""Intakes: where the service itself fetches OpenLineage events, besides those that are sent to it.

`settings` reads which there are, `door` is what each hands its documents to, `running` runs them. A kind is a module and a line in `KINDS`.
An intake delivers at least once: what was handed on is noted after it is durable, and the log keeps a document once.
"""

from __future__ import annotations

from headwater.backend.intakes.running import Intakes
from headwater.backend.intakes.settings import read_intakes

__all__ = ["Intakes", "read_intakes"]
