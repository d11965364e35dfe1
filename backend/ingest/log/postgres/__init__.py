"""The ingest log in PostgreSQL, which several replicas of a service share.

`address` parses the address and connects, `migrations` creates the tables, `writer` is the only way to write entries, `log` is the log
itself, and `presence` tracks the replicas.
"""

from __future__ import annotations

from headwater.backend.ingest.log.postgres.log import PostgresLog, open_postgres_log

__all__ = ["PostgresLog", "open_postgres_log"]
