"""The loops of taps in Python and in C: a test that asks for `loops` runs with each."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from headwater.spark_listener import rdd_records
from headwater.spark_listener.rdd_records import blocks, starts

_NAME = f"{rdd_records.__name__}._taps"


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The loops in C, compiled from the source as it is."""
    compiler, include = shutil.which("cc"), Path(sysconfig.get_paths()["include"])
    if compiler is None or not (include / "Python.h").exists():
        pytest.skip("there is no C compiler, or no Python.h")
    source = Path(rdd_records.__file__).with_name("_taps.c")
    target = tmp_path_factory.mktemp("compiled") / f"_taps{sysconfig.get_config_var('EXT_SUFFIX')}"
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-missing-field-initializers", "-Wno-cast-function-type"]
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", *warnings, f"-I{include}", str(source), "-o", str(target)], check=True)
    spec = spec_from_file_location(_NAME, target)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["python", "c"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The implementation of the loops: C or Python."""
    in_c = request.param == "c"
    for module in (starts, blocks):
        monkeypatch.setattr(module, "COMPILED", in_c)
    if in_c:
        compiled = request.getfixturevalue("compiled")
        monkeypatch.setitem(sys.modules, _NAME, compiled)
        monkeypatch.setattr(rdd_records, "_taps", compiled, raising=False)
    return str(request.param)
