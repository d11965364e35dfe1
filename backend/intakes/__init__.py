"""Intakes fetch OpenLineage events from files, Kafka and object stores, in addition to events sent to the service.

`settings` reads the configured intakes, `entrance` accepts their documents, and `runner` runs them. A kind is a module and a line in
`KINDS`. An intake delivers at least once: progress is recorded after documents are durable, and the log stores a document once.
"""

from __future__ import annotations

from headwater.backend.intakes.runner import Intakes
from headwater.backend.intakes.settings import read_intakes

__all__ = ["Intakes", "read_intakes"]
