"""`headwater.attach(spark)` and `detach`: turn capture on from within a program, for notebooks and tests."""

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
from headwater.spark_listener.operation_blocks import Operation
from headwater.spark_listener.operations import declared
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.settings import Settings, load_settings

_log = logging.getLogger("headwater")
_attached: Agent | None = None
_started_in: int | None = None


def attach(spark: Any, **options: Any) -> None:
    """Capture the lineage of `spark` from now on, and of sessions and contexts made later in this process.

    The options are those of `headwater run`, and take precedence over `HEADWATER_…` variables: `mode`, `home`, `namespace`, `name`, `url`,
    `api_key`, `segments`, `quiet`, `exit_wait`, `spool_bytes`, `environment`, `leave_out`. A second call, or a call under `headwater run`,
    changes nothing. The function never raises: the log reports a fault, and the program continues without capture.
    """
    if _started_in == os.getpid():
        _log.debug("capture is on already; attach changes nothing")
        return
    try:
        settings = load_settings(**options)
    except ConfigurationError as error:
        _log.error("Nothing is captured: %s", error)
        return
    agent = _begin(settings)
    if agent is not None:
        agent.session_made(spark)


def detach(spark: Any) -> None:  # noqa: ARG001  # there is one capture a process; named as in `attach`
    """End capture in this process: the run of the application ends, and its lineage is delivered. `attach` may begin again.

    The function never raises, and does nothing without capture.
    """
    global _attached, _started_in  # noqa: PLW0603  # one capture a process
    agent, _attached = _attached, None
    if agent is not None and _started_in == os.getpid():
        _started_in = None
        agent.finish(Outcome())


def operation(name: str, inputs: Any = (), outputs: Any = (), description: str | None = None) -> Operation:
    """Declare work that no Spark plan shows, around a block of code or as a decorator of a function.

        with headwater.operation("geocode", ["/lake/addresses"], ["/lake/places"], "asks a service where addresses are"):
            …

    `inputs` and `outputs` are paths or URIs, or pairs of an OpenLineage namespace and name. The operation is a separate run, which ends
    with the block and is marked as declared. It does nothing without capture. It never raises: the log reports invalid arguments.
    """
    return Operation(recorder, declared(name, inputs, outputs, description))


def switch_on(context: Any) -> None:
    """Turn capture on for a SparkContext with `spark.headwater.enabled`. Settings come from environment and configuration.

    Raises:
        ConfigurationError: a setting is invalid.
    """
    if _started_in != os.getpid():
        agent = _begin(load_settings())
        if agent is not None:
            agent.context_started(context)


def program_of(context: Any) -> Any:
    """Return the RDDs of a context (`rdd_records.program.Program`). None if their records are not captured."""
    agent = recorder()
    return None if agent is None else agent.program(context)


def claim(agent: Agent) -> None:
    """Mark capture as on, so that `attach` does nothing under `headwater run`."""
    global _attached, _started_in  # one capture a process
    _attached, _started_in = agent, os.getpid()


def _begin(settings: Settings) -> Agent | None:
    global _attached, _started_in  # noqa: PLW0603  # one capture a process
    _started_in = os.getpid()
    agent = Agent(settings, this_invocation(settings.environment))
    if not agent.watching:
        return None
    install(agent)
    atexit.register(_finish, agent, os.getpid())
    _attached = agent
    return agent


def recorder() -> Agent | None:
    agent = _attached if _started_in == os.getpid() else None
    return agent if agent is not None and agent.watching else None


def _finish(agent: Agent, pid: int) -> None:
    if os.getpid() != pid:
        return  # a forked child
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C during delivery: the spool keeps the rest
        agent.finish(Outcome())
