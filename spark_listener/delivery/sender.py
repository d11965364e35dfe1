"""The sender: a daemon thread that sends a program's items to a service while the program runs.

It must never block or slow the running program. If the service is away it waits, longer each time, and the spool keeps everything. It
reports that once, and not with every attempt.
"""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from headwater.errors import ConfigurationError, UnavailableError
from headwater.spark_listener.delivery.leftovers import Delivered, deliver_folder, deliver_leftovers
from headwater.spark_listener.spool import SpoolFolder

_log = logging.getLogger("headwater.delivery")
_LONGEST_PAUSE = 60.0


class Sender:
    """Delivers the folders of `add`, and leftovers of dead applications under `spool`, to the service at `url`."""

    def __init__(self, url: str, api_key: str | None, spool: Path) -> None:
        self.url = url
        self.problem: str | None = None
        self.arrived = 0
        self.refused: list[str] = []
        self._api_key = api_key
        self._spool = spool
        self._folders: list[SpoolFolder] = []
        self._wake = threading.Event()
        self._ending = False
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="headwater-sender", daemon=True)
        self._thread.start()

    def add(self, folder: SpoolFolder) -> None:
        self._folders.append(folder)
        self.wake()

    def wake(self) -> None:
        self._wake.set()

    def finish(self, timeout: float) -> bool:
        """Send the remaining items and end within `timeout` seconds. Return whether all items arrived."""
        self._ending = True
        self.wake()
        self._thread.join(timeout)
        self._stopped = True
        return not self._thread.is_alive() and not any(folder.has_pending() for folder in self._folders)

    def _run(self) -> None:
        from headwater.spark_listener.delivery.http import HttpDelivery  # imports requests, in a thread for which nobody waits

        delivery = HttpDelivery(self.url, self._api_key)
        leftovers_done = False
        pause = 1.0
        while not self._stopped:
            if not self._ending:
                self._wake.wait(None if leftovers_done and not self._waiting() else pause)
            self._wake.clear()
            ending = self._ending  # before reading, so that the loop below sees every item before the end
            try:
                for folder in list(self._folders):
                    self._note(deliver_folder(folder, delivery))
                if not leftovers_done:
                    self._note(deliver_leftovers(self._spool, delivery))
                    leftovers_done = True
                self.problem, pause = None, 1.0
            except UnavailableError as error:
                self._complain(f"{error} Lineage waits in {self._spool} and is sent when the service is back.")
                pause = min(pause * 2, _LONGEST_PAUSE)
                if ending:
                    break
                self._sleep(pause)
                continue
            except ConfigurationError as error:
                self._complain(f"{error} Lineage waits in {self._spool}.")
                break
            except Exception as error:  # noqa: BLE001  # whatever it is, the program goes on and the spool keeps its items
                self._complain(f"Delivery stopped: {error!r}. Lineage waits in {self._spool}.")
                _log.debug("delivery stopped", exc_info=True)
                break
            if ending:
                break
        delivery.close()

    def _waiting(self) -> bool:
        return any(folder.has_pending() for folder in self._folders)

    def _sleep(self, seconds: float) -> None:
        """Wait before the next attempt. The end of the program cuts the wait short, new items do not."""
        until = time.monotonic() + seconds
        while not self._ending and (left := until - time.monotonic()) > 0:
            self._wake.wait(left)
            self._wake.clear()

    def _note(self, delivered: Delivered) -> None:
        self.arrived += delivered.arrived
        self.refused += delivered.refused

    def _complain(self, text: str) -> None:
        if self.problem is None:
            _log.warning("%s", text)
        self.problem = text
