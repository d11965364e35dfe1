"""The setuptools commands that make the jars of `spark_listener/jars` before they pack them."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.path.insert(0, str(Path(__file__).parent))  # setuptools loads this file by its path

from compile_java import build


class BuildWithJars(build_py):
    """Copies the package into a wheel. For an editable install, `make bootstrap` makes the jars."""

    def run(self) -> None:
        if not self.editable_mode:
            build()
        super().run()


class SourcesWithJars(sdist):
    """Packs the sources and the jars, because a wheel from them must need no Java."""

    def run(self) -> None:
        build()
        super().run()
