"""The ingest log in PostgreSQL, which several replicas of a service share.

`address` says where it is and connects, `migrations` makes its tables, `appending` is the one way in, `log` the log itself, `presence` says
which replicas are there.
"""

from __future__ import annotations

from headwater.backend.ingest_log.postgres.log import PostgresLog, open_postgres_log

__all__ = ["PostgresLog", "open_postgres_log"]
