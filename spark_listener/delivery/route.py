"""Chooses the destination of a program's lineage: a service at an address, the service that runs on the home, or the home itself.

The choice is made once, when the program starts Spark. After any failure, the spool keeps the undelivered items for the next delivery.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from headwater.spark_listener.delivery.embedded import can_store, much_waits, store
from headwater.spark_listener.delivery.leftovers import take_refusals
from headwater.spark_listener.delivery.sender import Sender
from headwater.spark_listener.settings import Settings
from headwater.spark_listener.spool import SpoolFolder

_log = logging.getLogger("headwater.delivery")


@dataclass(frozen=True, slots=True)
class Report:
    """The result of delivery. `where` is the service's address or the home. `left` states what did not arrive and why, or is None."""

    where: str
    left: str | None = None
    refused: tuple[str, ...] = ()


class Route:
    """The route of a program's lineage. Call `add` for folders, `wake` for new items in them, and `finish` once.

    If `url` is None, the items go into the home.
    """

    def __init__(self, settings: Settings, url: str | None, api_key: str | None) -> None:
        self._settings = settings
        self._folders: list[SpoolFolder] = []
        self._sender = Sender(url, api_key, settings.home / "spool") if url else None

    @classmethod
    def choose(cls, settings: Settings) -> Route:
        if settings.apart:
            return cls(settings, None, None)
        if settings.url:
            return cls(settings, settings.url, settings.api_key)
        live = live_service(settings.home)
        return cls(settings, *live) if live else cls(settings, None, None)

    @property
    def sends(self) -> bool:
        return self._sender is not None

    def add(self, folder: SpoolFolder) -> None:
        self._folders.append(folder)
        if self._sender:
            self._sender.add(folder)

    def wake(self) -> None:
        if self._sender:
            self._sender.wake()

    def finish(self) -> Report:
        """Deliver the remaining items within the time of the settings, and close the folders."""
        if self._sender:
            arrived = self._sender.finish(self._settings.exit_wait)
            much = self._close()
            if arrived:
                return Report(self._sender.url, refused=tuple(self._sender.refused))
            if self._settings.url:
                problem = self._sender.problem or f"not all of it arrived within {self._settings.exit_wait:.0f} s."
                return Report(
                    self._sender.url,
                    left=f"{problem} The rest waits in {self._spool} and goes with the next run.",
                    refused=tuple(self._sender.refused),
                )
        else:
            much = self._close()
        return self._store(much)

    def _store(self, much: bool) -> Report:
        home = str(self._settings.home)
        if self._settings.apart:
            return Report(home)
        earlier = tuple(f"{reason} (of an earlier program)" for reason in take_refusals(self._spool))
        if not can_store():
            left = f'It waits in {self._spool}: set HEADWATER_URL to send it, or pip install "headwater[server]" to keep it here.'
            return Report(home, left=left, refused=earlier)
        if much:
            try:
                store(self._settings.home, 0.0)
            except OSError as error:
                _log.debug("what waits is taken in by the first question", exc_info=error)
        return Report(home, refused=earlier)

    def _close(self) -> bool:
        much = much_waits(self._spool, self._folders)
        for folder in self._folders:
            folder.close()
        return much

    @property
    def _spool(self) -> Path:
        return self._settings.home / "spool"


def live_service(home: Path) -> tuple[str, str | None] | None:
    """Return address and key of the service that runs on a home. None if no service runs."""
    try:
        stated = json.loads((home / "service.json").read_text(encoding="utf-8"))
        os.kill(int(stated["pid"]), 0)
        key = (home / "key").read_text(encoding="utf-8").strip()
        return str(stated["url"]).rstrip("/"), os.environ.get("HEADWATER_API_KEY") or key
    except PermissionError:
        return None  # another user's service: we do not know its key
    except (OSError, ValueError, KeyError, TypeError):
        return None  # no service, or only the file of a dead service
