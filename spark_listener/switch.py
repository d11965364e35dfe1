"""The switch in Spark's configuration: `spark.headwater.enabled true` turns capture on, however the program was started.

`site/sitecustomize.py` uses it before the program runs. Only the hooks are loaded until a SparkContext turns capture on.
"""

from __future__ import annotations

import logging
from typing import Any

from headwater.spark_listener.hooks import Watcher, install

_log = logging.getLogger("headwater")


class Switch(Watcher):
    """Waits for the first SparkContext. Its configuration decides whether capture starts."""

    watching = True

    def context_started(self, context: Any) -> None:
        try:
            on = str(context._jsc.sc().conf().get("spark.headwater.enabled", "false")).lower() == "true"  # noqa: SLF001  # no public way
            if on:
                from headwater.spark_listener.attach import switch_on

                switch_on(context)
        except Exception as error:  # noqa: BLE001  # the program goes on without capture, whatever was wrong
            _log.warning("Nothing is captured: %s: %s", type(error).__name__, error)


def watch() -> None:
    install(Switch())
