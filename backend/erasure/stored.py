"""Reads the stored erasures of a home. The service uses it, so it loads nothing that runs an erasure."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from pydantic import ValidationError

from headwater.backend.erasure.model import Erasure

FILE = "erasure.json"
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_log = logging.getLogger("headwater.erasure")


def list_erasures(folder: Path, tenant: str) -> list[Erasure]:
    """Return the erasures of a tenant, newest first."""
    found = [load_erasure(file.parent) for file in folder.glob(f"*/{FILE}")]
    return sorted((one for one in found if one is not None and one.tenant == tenant), key=lambda one: one.began, reverse=True)


def find_erasure(folder: Path, tenant: str, identifier: str) -> Erasure | None:
    """Return an erasure, or None if there is none with this id."""
    found = load_erasure(folder / identifier) if _ID.fullmatch(identifier) else None
    return found if found is not None and found.tenant == tenant else None


def load_erasure(folder: Path) -> Erasure | None:
    try:
        return Erasure.model_validate_json((folder / FILE).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        _log.warning("the erasure in %s cannot be read: %d fields differ", folder, error.error_count())
        return None
