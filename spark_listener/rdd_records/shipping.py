"""Ships Headwater's worker classes with the program's functions, because workers may lack Headwater.

cloudpickle can ship a class by value, but it takes the class apart again for every stage, and a worker rebuilds it for every task. So the
classes are pickled once, as bytes, and an object only names its class. A worker caches the classes of such bytes.
"""

from __future__ import annotations

import copyreg
import pickle
import sys
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from types import ModuleType
from typing import Any

_NEW = copyreg.__newobj__  # type: ignore[attr-defined]  # rebuilds objects without their own pickle method
_CONSTANT = (bool, int, bytes, str)
_openings: dict[tuple[Any, ...], bytes] = {}  # by the values of the modules' constants, which benches and tests change


@cache
def ship_by_value() -> None:
    """Make PySpark's cloudpickle send Headwater's worker code with the program's functions. Runs once for all contexts."""
    from pyspark import cloudpickle

    for module in (*_modules(), sys.modules[__name__]):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # untyped in PySpark
    for kind in _classes().values():
        copyreg.pickle(kind, _reduced)


@cache
def _modules() -> tuple[ModuleType, ...]:
    from headwater.spark_listener.rdd_records import batches, blocks, checked, chosen, keys, placed, starts, taps, whole_files

    return batches, blocks, checked, chosen, keys, placed, starts, taps, whole_files


@cache
def _classes() -> Mapping[str, type]:
    """Return the classes with instances in workers, by name. Exceptions are pickled in another way."""
    defined = (value for module in _modules() for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__)
    return {_name(kind): kind for kind in defined if isinstance(kind, type) and not issubclass(kind, BaseException)}


def _reduced(shipped: Any) -> tuple[Any, ...]:
    made, arguments, *state = shipped.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    if made is not _NEW:
        return made, arguments, *state
    kind, *given = arguments
    return _MAKER, (_name(kind), *given), *state


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


class _Maker:
    """Makes an object by its class name. In a pickle it is the bytes of all classes; in a worker, the result of `opened`."""

    def __call__(self, name: str, *arguments: Any) -> Any:
        kind: Any = _classes()[name]
        return kind.__new__(kind, *arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return pickle.loads, (_opening(),)


_MAKER = _Maker()


def _opening() -> bytes:
    from pyspark import cloudpickle

    constants = tuple(
        (module.__name__, name, value) for module in _modules() for name, value in vars(module).items() if isinstance(value, _CONSTANT)
    )
    if constants not in _openings:
        classes = zlib.compress(cloudpickle.dumps(dict(_classes())))  # type: ignore[no-untyped-call]
        _openings[constants] = cloudpickle.dumps(_Opening(classes))  # type: ignore[no-untyped-call]
    return _openings[constants]


class _Opening:
    def __init__(self, classes: bytes) -> None:
        self._classes = classes

    def __reduce__(self) -> tuple[Any, ...]:
        return opened, (sha256(self._classes).hexdigest(), self._classes)


def opened(digest: str, classes: bytes) -> Callable[..., Any]:
    """Return the maker of objects, in a worker that has Python and PySpark only. The classes are loaded once in a process."""
    name = f"_headwater_shipped_{digest}"
    module = sys.modules.get(name)
    if module is None:
        module = ModuleType(name)
        module.__dict__.update(pickle.loads(zlib.decompress(classes)))  # noqa: S301  # what the driver sent, as the program's functions
        sys.modules[name] = module
    found = module.__dict__

    def make(kind: str, *arguments: Any) -> Any:
        return found[kind].__new__(found[kind], *arguments)

    return make
