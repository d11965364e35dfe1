"""`headwater.attach(spark)`: capture from one line in the program, where `headwater run` does not start it (notebooks, pytest, shells)."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
from typing import Any

from headwater.errors import ConfigurationError
from headwater.spark_listener.agent import Agent
from headwater.spark_listener.hooks import install
from headwater.spark_listener.invocation import this_invocation
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.settings import load_settings

_log = logging.getLogger("headwater")
_attached: Agent | None = None
_started_in: int | None = None


def attach(spark: Any, **options: Any) -> None:
    """Capture the lineage of what `spark` does from now on, and of sessions and contexts made later in this process.

    Options are those of `headwater run` and win over `HEADWATER_…` variables: `mode`, `home`, `namespace`, `name`, `url`, `api_key`,
    `segments`, `quiet`, `exit_wait`, `spool_bytes`, `environment`. A second call, or a call under `headwater run`, changes nothing.
    It never raises: what is wrong is said in the log, and the program goes on without capture.
    """
    global _attached, _started_in  # noqa: PLW0603  # one capture a process
    if _started_in == os.getpid():
        _log.debug("capture is on already; attach changes nothing")
        return
    try:
        settings = load_settings(**options)
    except ConfigurationError as error:
        _log.error("Nothing is captured: %s", error)
        return
    _started_in = os.getpid()
    agent = Agent(settings, this_invocation(settings.environment))
    if not agent.watching:
        return
    install(agent)
    atexit.register(_finish, agent, os.getpid())
    agent.session_made(spark)
    _attached = agent


def claim() -> None:
    """Under `headwater run`: capture is on, so `attach` has nothing to do."""
    global _started_in  # noqa: PLW0603  # one capture a process
    _started_in = os.getpid()


def _finish(agent: Agent, pid: int) -> None:
    if os.getpid() != pid:
        return  # a forked child
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C while we deliver: the spool keeps the rest
        agent.finish(Outcome())
