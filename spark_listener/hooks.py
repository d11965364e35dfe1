"""Hooks in PySpark: at the start of a SparkContext or session, and around `stop`, reads and saves of RDDs, and checkpoints.

They are installed on PySpark's classes at import, in this process only. Python workers never load this module, and in a forked child every
hook passes the call on. A hook calls the original with the same arguments, and the program gets its result or exception. There are two
exceptions: a checkpoint is called on a DataFrame with taps, and the RDD of a DataFrame (or the DataFrame of an RDD) carries references.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from headwater.spark_listener.rdd_records.operators import Hooks, rows_made

if TYPE_CHECKING:
    from headwater.spark_listener.rdd_records.program import Program


class Watcher:
    """Receives the events of the hooks. This class ignores them; a subclass overrides the methods that it needs. No method may raise."""

    @property
    def watching(self) -> bool:
        return False

    def context_started(self, context: Any) -> None: ...

    def context_stopped(self, context: Any) -> None: ...

    def session_made(self, session: Any) -> None: ...

    def frame_becomes_rdd(self, frame: Any) -> Any: ...

    def look_begins(self, context: Any) -> None: ...

    def look_ended(self, context: Any) -> None: ...

    def frame_became_rdd(self, frame: Any, rdd: Any, token: Any) -> None: ...

    def rdd_became_frame(self, rdd: Any, rows: Any, frame: Any) -> Any:  # noqa: ARG002  # as a watcher has it
        return frame

    def checkpoint_begins(self, frame: Any) -> Any: ...

    def frame_checkpointed(self, frame: Any, checkpoint: Any, token: Any) -> None: ...

    def save_begins(self, rdd: Any, method: str, arguments: dict[str, Any]) -> Any: ...

    def save_ended(self, token: Any, error: BaseException | None) -> None: ...

    def program(self, context: Any) -> Program | None: ...

    def rdd_fault(self, doing: str, error: Exception) -> None: ...


class _Current:
    """The present watcher. PySpark's classes are hooked once, and look up the watcher at each call."""

    def __init__(self) -> None:
        self.to = Watcher()
        self.is_hooked = False

    # These functions look up the current watcher at each call.
    def program(self, context: Any) -> Program | None:
        return self.to.program(context)

    def rdd_fault(self, doing: str, error: Exception) -> None:
        self.to.rdd_fault(doing, error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.to, name)


_CURRENT = _Current()
_SAVES = (
    "saveAsTextFile", "saveAsPickleFile", "saveAsSequenceFile", "saveAsHadoopFile", "saveAsNewAPIHadoopFile", "saveAsHadoopDataset",
    "saveAsNewAPIHadoopDataset",
)  # fmt: skip
_HOOKED = "__headwater_hooked__"


def install(watcher: Watcher) -> None:
    """Hook PySpark's classes now if they are loaded, else at their import. A later watcher replaces an earlier one."""
    _CURRENT.to = watcher
    if not _CURRENT.is_hooked:
        _CURRENT.is_hooked = True
        _hook(cast("Watcher", _CURRENT))


def _hook(watcher: Watcher) -> None:
    patches: dict[str, Callable[[ModuleType], None]] = {}
    for name in ("pyspark.core.context", "pyspark.context"):
        patches[name] = functools.partial(_hook_context, watcher=watcher)
    for name in ("pyspark.core.rdd", "pyspark.rdd"):
        patches[name] = functools.partial(_hook_rdd, watcher=watcher)
    patches["pyspark.sql.session"] = functools.partial(_hook_session, watcher=watcher)
    for name in ("pyspark.sql.classic.dataframe", "pyspark.sql.dataframe"):
        patches[name] = functools.partial(_hook_frame, watcher=watcher)
    for name in [name for name in patches if name in sys.modules]:
        patches.pop(name)(sys.modules[name])
    sys.meta_path.insert(0, _AfterImport(patches))


class _AfterImport(MetaPathFinder):
    """An import finder that finds no module. It runs a patch after a named module was executed."""

    def __init__(self, patches: dict[str, Callable[[ModuleType], None]]) -> None:
        self._patches = patches

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        patch = self._patches.pop(fullname, None)
        if patch is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _PatchingLoader(spec.loader, patch)
        return spec


class _PatchingLoader(Loader):
    """Replaces a module's loader for one execution, because the modules of a ZIP share a loader that must not change."""

    def __init__(self, inner: Loader, patch: Callable[[ModuleType], None]) -> None:
        self._inner = inner
        self._patch = patch

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._inner
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        self._inner.exec_module(module)
        self._patch(module)


def _hook_context(module: ModuleType, *, watcher: Watcher) -> None:
    context = getattr(module, "SparkContext", None)
    if context is None or context.__module__ != module.__name__ or hasattr(context, _HOOKED):
        return
    setattr(context, _HOOKED, True)
    _after(context, "__init__", lambda self, _result: watcher.context_started(self), watcher)
    _after(context, "stop", lambda self, _result: watcher.context_stopped(self), watcher)
    Hooks(watcher.program, watcher.rdd_fault).install_context(context)


def _hook_session(module: ModuleType, *, watcher: Watcher) -> None:
    session = module.SparkSession
    if hasattr(session, _HOOKED):
        return
    setattr(session, _HOOKED, True)
    _after(session, "__init__", lambda self, _result: watcher.session_made(self), watcher)
    create = session.createDataFrame

    @functools.wraps(create)
    def create_frame(self: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
        if not watcher.watching or not hasattr(data, "mapPartitions"):  # not an RDD
            return create(self, data, *args, **kwargs)
        watcher.look_begins(self.sparkContext)
        try:
            with rows_made() as rows:
                frame = create(self, data, *args, **kwargs)
        finally:
            watcher.look_ended(self.sparkContext)
        return watcher.rdd_became_frame(data, rows[-1] if rows else None, frame)

    session.createDataFrame = create_frame


def _hook_frame(module: ModuleType, *, watcher: Watcher) -> None:
    frame = getattr(module, "DataFrame", None)
    if frame is None or frame.__module__ != module.__name__ or "rdd" not in frame.__dict__ or _HOOKED in vars(frame):
        return
    setattr(frame, _HOOKED, True)
    for method in ("checkpoint", "localCheckpoint"):
        _around_checkpoint(frame, method, watcher)
    original = frame.__dict__["rdd"]
    kind, getter = type(original), getattr(original, "fget", None) or getattr(original, "func", None)
    if kind not in (property, functools.cached_property) or getter is None:
        return

    @functools.wraps(getter)
    def rdd(self: Any) -> Any:
        token = watcher.frame_becomes_rdd(self) if watcher.watching else None
        made = getter(self) if token is None or token.rdd is None else token.rdd
        if watcher.watching:
            watcher.frame_became_rdd(self, made, token)
        return made

    hooked = kind(rdd)
    if isinstance(hooked, functools.cached_property):
        hooked.__set_name__(frame, "rdd")
    frame.rdd = hooked


def _hook_rdd(module: ModuleType, *, watcher: Watcher) -> None:
    rdd = getattr(module, "RDD", None)
    if rdd is None or rdd.__module__ != module.__name__ or hasattr(rdd, _HOOKED):
        return
    setattr(rdd, _HOOKED, True)
    for method in _SAVES:
        if hasattr(rdd, method):
            _around_save(rdd, method, watcher)
    Hooks(watcher.program, watcher.rdd_fault).install_rdd(rdd)
    if not hasattr(rdd, "getLineage"):
        rdd.getLineage = _get_lineage


def _get_lineage(rdd: Any) -> Any:
    import headwater

    return headwater.lineage(rdd)


def _after(owner: type, method: str, tell: Callable[[Any, Any], None], watcher: Watcher) -> None:
    original = getattr(owner, method)

    @functools.wraps(original)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if watcher.watching:
            tell(self, result)
        return result

    setattr(owner, method, hooked)


def _around_checkpoint(owner: type, method: str, watcher: Watcher) -> None:
    original = getattr(owner, method)

    @functools.wraps(original)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        token = watcher.checkpoint_begins(self) if watcher.watching else None
        result = original(self if token is None or token.frame is None else token.frame, *args, **kwargs)
        if watcher.watching:
            watcher.frame_checkpointed(self, result, token)
        return result

    setattr(owner, method, hooked)


def _around_save(owner: type, method: str, watcher: Watcher) -> None:
    original = getattr(owner, method)
    names = original.__code__.co_varnames[1 : original.__code__.co_argcount]

    @functools.wraps(original)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        token = watcher.save_begins(self, method, {**dict(zip(names, args, strict=False)), **kwargs}) if watcher.watching else None
        try:
            result = original(self if token is None or token.rdd is None else token.rdd, *args, **kwargs)
        except BaseException as error:
            if token is not None:
                watcher.save_ended(token, error)
            raise
        if token is not None:
            watcher.save_ended(token, None)
        return result

    setattr(owner, method, hooked)
