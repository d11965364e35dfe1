"""The process that runs trials. Its parent sends one order per line, and gets one result per line. The program's output goes to the log.

The process ends when its parent closes the pipe. It runs only scripts whose hash the order names.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from headwater.errors import HeadwaterError
from headwater.spark_listener.hooks import Watcher, install
from headwater.spark_listener.launch import execute_script
from headwater.spark_listener.replay import RDD_READS, Replayer, ReplayOrder, lead_paths
from headwater.spark_listener.shadow_paths import ShadowPaths
from headwater.spark_listener.trials.failures import TrialFailure, failure_of_error
from headwater.spark_listener.trials.program_inputs import ProgramInputs, hook_own_rows
from headwater.spark_listener.trials.user_functions import hook_functions

_WHOLE_FILES = ("wholeTextFiles", "binaryFiles")
_ALL_ROWS = 1 << 60
_IGNORES_EMPTY = "spark.hadoopRDD.ignoreEmptySplits"


class _Current(Watcher):
    """Passes each session to the replayer of the present trial."""

    watching = True

    def __init__(self) -> None:
        self.replayer: Replayer | None = None

    def session_made(self, session: Any) -> None:
        if self.replayer is not None:
            self.replayer.session_made(session)


class TrialServer:
    """Runs the trials of one search, one after the other."""

    def __init__(self) -> None:
        from headwater.spark_listener.trials.warm_context import WarmContext

        first = ReplayOrder(replay="", shadow="/", exclude={}, script_sha256="")
        self._paths = ShadowPaths("/")
        self._watcher = _Current()
        self._inputs = ProgramInputs({}, (), Path("/"))
        self._context = WarmContext()
        install(self._watcher)
        hook_own_rows(lambda: self._inputs)
        hook_functions(lambda: self._inputs.watch)
        self._lead_rdd_reads()
        lead_paths(first, self._paths)

    def run(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Run one trial: scripts one after the other, until one fails. Returns its failure and what it read."""
        began = time.monotonic()
        shadow = Path(order["shadow"])
        watch = Path(f"{shadow}.watch")
        watch.mkdir(parents=True)
        shadow.mkdir(parents=True, exist_ok=True)
        keep = {file: [tuple(each) for each in ranges] for file, ranges in order["keep"].items()}
        whole = {file: [(0, _ALL_ROWS)] for file in order["files"]}
        self._inputs = ProgramInputs(keep | whole, order["restrict"], Path(f"{shadow}.inputs"), str(watch))
        self._paths.shadow = shadow
        failure: TrialFailure | None = None
        for script in order["steps"]:
            trial = ReplayOrder(
                replay="", shadow=str(shadow), exclude={}, script_sha256=script["script_sha256"], keep=keep,
                restrict=order["restrict"], watch=str(watch), shows=order["shows"], files=order["files"],
            )  # fmt: skip
            self._watcher.replayer = Replayer(trial)
            failure = self._run_script(script, trial)
            self._context.clear()
            if failure is not None:
                break
        return {
            "failure": failure.as_json() if failure else None, "seconds": time.monotonic() - began,
            "counts": self._inputs.counts, "rows": self._inputs.rows,
            "present": self._inputs.present_rows() if failure else [],
        }  # fmt: skip

    def _run_script(self, script: Mapping[str, Any], order: ReplayOrder) -> TrialFailure | None:
        before = _State()
        os.environ.update(script["environment"])
        os.chdir(script["working_directory"])
        path = script["script"]
        sys.argv = [path, *script["arguments"]]
        if script.get("modules"):
            sys.path.insert(1, script["modules"])  # the launcher replaces the first entry by the folder of the script
        try:
            execute_script(path, order)
        except SystemExit as stop:
            code = stop.code
            if code in (None, 0):
                return None
            return TrialFailure("SystemExit", str(code))
        except BaseException as error:  # noqa: BLE001  # the failure is what a trial looks for
            import traceback

            traceback.print_exc()
            return failure_of_error(error, path)
        finally:
            before.restore()
        return None

    def _lead_rdd_reads(self) -> None:
        from pyspark import SparkContext

        server = self
        for method in RDD_READS:
            original = getattr(SparkContext, method, None)
            if original is None:
                continue
            setattr(SparkContext, method, _led_read(server, method, original))

    @property
    def keeps_no_record(self) -> bool:
        return self._inputs.keeps_no_record

    def watched(self, rdd: Any, method: str) -> Any:
        return self._inputs.watched(rdd, self._inputs.last_source("lines")) if method == "textFile" else rdd

    def chosen_path(self, method: str, path: str) -> str:
        """Return the path that an RDD reader gets: its shadow if the program has written it, else a copy with the kept records."""
        parts = [self._paths.read(part) for part in path.split(",")]
        if any(part.startswith(str(self._paths.shadow)) for part in parts):
            return ",".join(parts)
        if method == "textFile":
            return self._inputs.lines(path)
        if method in _WHOLE_FILES:
            return self._inputs.whole_files(path)
        return path


def _led_read(server: TrialServer, method: str, original: Any) -> Any:
    def led(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], str):
            args = (server.chosen_path(method, args[0]), *args[1:])
        for name in ("name", "path"):
            if isinstance(kwargs.get(name), str):
                kwargs[name] = server.chosen_path(method, kwargs[name])
        with _empty_splits(self) if server.keeps_no_record else contextlib.nullcontext():
            return server.watched(original(self, *args, **kwargs), method)

    return led


@contextlib.contextmanager
def _empty_splits(context: Any) -> Iterator[None]:
    """Let the RDDs that are made meanwhile run a task for each empty file, too."""
    conf = context._jsc.sc().conf()  # noqa: SLF001  # PySpark has no other way to it
    before = conf.get(_IGNORES_EMPTY, "true")
    conf.set(_IGNORES_EMPTY, "false")
    try:
        yield
    finally:
        conf.set(_IGNORES_EMPTY, before)


class _State:
    """What a script may change in its process: variables, folder, arguments, modules and signals."""

    def __init__(self) -> None:
        self._environment = dict(os.environ)
        self._folder = os.getcwd()
        self._path = list(sys.path)
        self._argv = list(sys.argv)
        self._modules = set(sys.modules)
        self._main = sys.modules["__main__"]
        self._signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore(self) -> None:
        os.environ.clear()
        os.environ.update(self._environment)
        os.chdir(self._folder)
        sys.path[:] = self._path
        sys.argv = self._argv
        sys.modules["__main__"] = self._main
        for name in set(sys.modules) - self._modules:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if (
                file
                and not file.startswith((sys.prefix, sys.base_prefix))
                and "site-packages" not in file
                and not name.startswith("headwater")
            ):
                del sys.modules[name]
        for number, handler in self._signals.items():
            with contextlib.suppress(ValueError, TypeError):
                signal.signal(number, handler)


def main() -> NoReturn:
    """Serve trials until the pipe of orders ends. The arguments are the numbers of the two pipes."""
    orders, results = (int(text) for text in sys.argv[1:3])
    os.set_inheritable(orders, False)
    os.set_inheritable(results, False)
    server: TrialServer | None = None
    with os.fdopen(orders, encoding="utf-8") as lines, os.fdopen(results, "w", encoding="utf-8") as answers:
        for line in lines:
            with contextlib.suppress(OSError):
                os.ftruncate(1, 0)  # the log holds the output of the last trial
                os.lseek(1, 0, os.SEEK_SET)
            try:
                server = server or TrialServer()
                result = server.run(json.loads(line))
            except (HeadwaterError, OSError) as error:
                result = {"error": str(error)}
            sys.stdout.flush()
            answers.write(json.dumps(result) + "\n")
            answers.flush()
    sys.stdout.flush()
    os._exit(0)  # exit handlers of the program have nothing to finish: its JVM ends with the pipe


if __name__ == "__main__":
    main()
