"""Checks before a replica starts: shared state must be shared, and certain settings must be equal.

With a shared log (`HEADWATER_INGEST_LOG`), state in one replica's home would be lost with the home, and missing in the answers of others. A
replica therefore does not start with its own graph, associations or key. Files of the operator (`masks.toml`, `people.toml`,
`targets.toml`) must be equal: running replicas compare their digests (`ingest.log.postgres.presence`).
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from headwater.backend.home.settings import Settings
from headwater.errors import ConfigurationError

_WHAT = {
    "store": "the graph is a file of this home: set HEADWATER_STORE to a Neo4j server (neo4j://host:7687)",
    "associations": "record lineage is kept in this home: set HEADWATER_ASSOCIATIONS to a folder of an object store (s3://bucket/folder)",
    "key": "the key is one that this home makes: set HEADWATER_API_KEY, the same for all replicas",
}


def require_shared(settings: Settings) -> None:
    """Check that all state that replicas must share is outside of the home.

    Raises:
        ConfigurationError: some state is in the home. The message names all of it.
    """
    if settings.ingest_log is None:
        return
    own = {
        "store": urlsplit(settings.store_url).scheme == "sqlite",
        "associations": not settings.associations,
        "key": not settings.api_key,
    }
    if any(own.values()):
        what = "; ".join(_WHAT[name] for name, is_own in own.items() if is_own)
        raise ConfigurationError(f"HEADWATER_INGEST_LOG names a log that replicas share, and {what}.", hint="See docs/operate/replicas.md.")


def alike(settings: Settings) -> dict[str, str]:
    """Return the digests of everything that must be equal in all replicas, by name. They are keyed, and reveal nothing without the key."""
    key = settings.api_key.get_secret_value().encode() if settings.api_key else b""
    home = settings.folder

    def digest(content: bytes) -> str:
        return hmac.new(key, b"headwater replicas " + content, sha256).hexdigest()[:16]

    return {
        "HEADWATER_API_KEY": digest(b"key"),
        "HEADWATER_STORE": digest(settings.store_url.encode()),
        "HEADWATER_ASSOCIATIONS": digest((settings.associations or "").encode()),
        **{path.name: digest(_content(path)) for path in (home.masks, home.people, home.targets)},
    }


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
