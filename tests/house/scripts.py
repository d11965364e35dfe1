"""Loads a file of scripts/, which is no package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def load_script(root: Path, name: str) -> ModuleType:
    """The module that `scripts/<name>.py` is."""
    if (scripts := str(root / "scripts")) not in sys.path:
        sys.path.append(scripts)  # a script imports its neighbours
    specification = importlib.util.spec_from_file_location(f"scripts_{name}", root / "scripts" / f"{name}.py")
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module
