"""The launcher: runs a program as `python` would, with capture on.

Process, interpreter, arguments, `__main__`, `sys.path`, signals and exit code are those of `python`. A traceback shows the program's frames
only. `headwater run` uses the launcher. For spark-submit, this file goes in front of the program:

    spark-submit "$(python -m headwater.spark_listener)" job.py …

There, the settings come from the environment. A replay (`HEADWATER_REPLAY`) redirects the program's paths to a shadow folder before the
start. A recapture also captures, and delivers nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import runpy
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from importlib.machinery import SourceFileLoader
from io import open_code
from types import CodeType, ModuleType, TracebackType
from typing import NoReturn

from headwater.errors import HeadwaterError, InvalidInputError, UnsupportedError
from headwater.spark_listener.agent import Agent
from headwater.spark_listener.attach import claim
from headwater.spark_listener.hooks import install
from headwater.spark_listener.invocation import take_invocation
from headwater.spark_listener.outcome import Outcome
from headwater.spark_listener.replay import ReplayOrder, lead_paths, watcher_of
from headwater.spark_listener.settings import Mode, Settings, load_settings
from headwater.spark_listener.telling import NOT_IN_MODE_OFF, tell

_OURS = os.path.dirname(os.path.realpath(__file__))
_INTERRUPTED = 128 + signal.SIGINT


class _Ending:
    """Finishes capture at the end of the process, after all exit handlers of the program."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._pid = os.getpid()
        self.outcome = Outcome(exit_code=0)
        self.interrupted = False

    def __call__(self) -> None:
        if os.getpid() != self._pid:
            return  # a forked child: only the parent's end is the end of the program
        with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C during delivery: the spool keeps the rest
            self._agent.finish(self.outcome)
        if self.interrupted:
            # Like the interpreter, end by the signal itself, so that shells and schedulers see it.
            sys.stdout.flush()
            sys.stderr.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)


def run(program: str, arguments: Sequence[str], settings: Settings, *, module: bool = False) -> NoReturn:
    """Run a script (a file, or a folder or archive with a `__main__`), or a module as with `-m`. Ends by SystemExit, like the program.

    Raises:
        InvalidInputError: the script does not exist.
    """
    if not module and not os.path.exists(program):
        raise InvalidInputError(
            f"There is no script {os.path.abspath(program)}.", hint="Usage: headwater run [OPTIONS] SCRIPT [ARGUMENTS]."
        )
    argv = [program, *arguments]
    order = ReplayOrder.from_environment()
    if order is not None:
        settings = replace(settings, apart=order.captures, skip_failing=0)
    invocation = take_invocation(script=None if module else program, argv=argv, extra_variables=settings.environment)
    agent = Agent(settings, invocation, loading_seconds=time.process_time())
    ending = _Ending(agent)
    atexit.register(ending)
    claim(agent)
    if order is not None:
        install(watcher_of(order, agent))
        lead_paths(order)  # last, so that the watchers see the redirected paths
    elif settings.mode is not Mode.OFF:
        install(agent)
    elif settings.skip_failing:
        tell(NOT_IN_MODE_OFF)
    sys.excepthook = sys.__excepthook__  # a hook of the command line would change the program's error output
    sys.argv = argv
    code = 0
    try:
        _execute(program, order, module=module)
    except SystemExit as stop:
        code = _exit_code(stop)
        ending.outcome = Outcome(exit_code=code)
        raise _bare(stop) from None
    except BaseException as error:  # noqa: BLE001  # whatever ends the program ends it as under python
        ending.outcome = _failure(error)
        ending.interrupted = isinstance(error, KeyboardInterrupt)
        _show(error)
        code = _INTERRUPTED if ending.interrupted else 1
    sys.exit(code)


def main(argv: Sequence[str] | None = None) -> NoReturn:
    program, *arguments = sys.argv[1:] if argv is None else argv
    try:
        settings = load_settings()
    except HeadwaterError as error:
        sys.exit(f"headwater: {error}")
    run(program, arguments, settings)


def execute_script(script: str, order: ReplayOrder) -> None:
    """Run a script as `__main__` for a trial. The script must be the one that the order names."""
    _execute(script, order, module=False)


def _execute(program: str, order: ReplayOrder | None, *, module: bool) -> None:
    if order is not None and (module or os.path.isdir(program)):
        raise UnsupportedError(f"{program} is no script, so a replay does not run it.")
    if module:
        _first_on_path(os.getcwd())
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    elif os.path.isdir(program) or not _is_source(program):
        if order is not None:
            order.check(program, _content(program))
        del sys.path[0]  # runpy puts the program there
        runpy.run_path(program, run_name="__main__")
    else:
        _first_on_path(os.path.dirname(os.path.realpath(program)))
        _execute_file(program, order)


def _first_on_path(folder: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _execute_file(script: str, order: ReplayOrder | None) -> None:
    path = os.path.abspath(script)
    content = _content(path)
    if order is not None:
        order.check(path, content)  # checks the bytes that are run
    main_module = ModuleType("__main__")
    main_module.__dict__.update(
        __file__=path,
        __loader__=SourceFileLoader("__main__", path),
        __builtins__=__builtins__,
        __cached__=None,
        __annotations__={},
    )
    sys.modules["__main__"] = main_module
    exec(_compiled(path, content), main_module.__dict__)  # noqa: S102  # running the user's script is what we are asked for


def _content(path: str) -> bytes:
    with open_code(path) as file:
        return file.read()


def _compiled(path: str, content: bytes) -> CodeType:
    return compile(content, path, "exec", dont_inherit=True)


def _is_source(program: str) -> bool:
    """Return whether a file is source code. An archive with a `__main__` begins like a ZIP."""
    with open(program, "rb") as file:
        return file.read(4) != b"PK\x03\x04"


def _exit_code(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    return stop.code & 0xFF if isinstance(stop.code, int) else 1


def _bare(stop: SystemExit) -> SystemExit:
    stop.__traceback__ = None
    return stop


def _failure(error: BaseException) -> Outcome:
    name = type(error).__name__
    trace = "".join(traceback.format_exception(type(error), error, _theirs(error.__traceback__)))
    interrupted = isinstance(error, KeyboardInterrupt)
    code = _INTERRUPTED if interrupted else 1
    return Outcome(error=f"{name}: {error}" if str(error) else name, stack_trace=trace, exit_code=code, cancelled=interrupted)


def _show(error: BaseException) -> None:
    """Print the traceback like the interpreter, through the program's own hook if it has set one."""
    seen: set[int] = set()
    chained: BaseException | None = error
    while chained is not None and id(chained) not in seen:
        seen.add(id(chained))
        chained.__traceback__ = _theirs(chained.__traceback__)
        chained = chained.__cause__ or chained.__context__
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    sys.excepthook(type(error), error, error.__traceback__)


def _theirs(trace: TracebackType | None) -> TracebackType | None:
    if trace is None:
        return None
    rest = _theirs(trace.tb_next)
    if _is_ours(trace.tb_frame.f_code.co_filename):
        return rest
    trace.tb_next = rest
    return trace


def _is_ours(filename: str) -> bool:
    return os.path.realpath(filename).startswith(_OURS + os.sep) or filename == "<frozen runpy>"


if __name__ == "__main__":
    # The program becomes `__main__`, and this file is imported as a module.
    from headwater.spark_listener import launch

    launch.main()
