"""The operator's list of runners, `runners.toml` of the home.

default = "cluster"              # for programs that are not listed; without it, this machine

[programs]
"default/report" = "airflow"     # NAMESPACE/JOB
"default/small" = "this-machine"

[[runner]]
name = "cluster"
kind = "spark-submit"
master = "spark://master.example.com:7077"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from headwater.backend.rerun.runners.launch import ProgramRunner
from headwater.backend.rerun.runners.this_machine import ThisMachine
from headwater.errors import ConfigurationError, HeadwaterError
from headwater.graph.storage.open_files import read_small_file

FILE = "runners.toml"
DEFAULT = "this-machine"
KINDS = {
    "spark-submit": "spark_submit:SparkSubmit",
    "webhook": "webhook:WebhookRunner",
    "kubernetes": "kubernetes:KubernetesJob",
}  # the registry: name -> module and class
_MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Runners:
    """The runners of a home. `programs` maps NAMESPACE/JOB to the name of a runner."""

    home: Path
    default: str = DEFAULT
    programs: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of_home(cls, home: Path) -> Runners:
        """Read the runners of a home. Without a file, every program runs on this machine.

        Raises:
            ConfigurationError: the file is invalid. Then no program starts, because it could start in a wrong place.
        """
        file = home / FILE
        try:
            stated = tomllib.loads(read_small_file(file, _MOST_BYTES).decode("utf-8"))
        except FileNotFoundError:
            return cls(home)
        except (OSError, ValueError) as error:
            raise _invalid(file, str(error)) from error
        if extra := sorted(set(stated) - {"default", "programs", "runner"}):
            raise _invalid(file, f"{extra[0]} is not known")
        tables, programs = _tables(file, stated), stated.get("programs", {})
        if not isinstance(programs, dict):
            raise _invalid(file, "programs is not a table")
        default = stated.get("default", DEFAULT)
        for name in (default, *programs.values()):
            if name != DEFAULT and name not in tables:
                raise _invalid(file, f"there is no runner {name!r}, only {', '.join([DEFAULT, *sorted(tables)])}")
        return cls(home, default, programs, tables)

    def of_program(self, namespace: str, job: str) -> ProgramRunner:
        """Return the runner of a program.

        Raises:
            ConfigurationError: the operator's description of the runner is invalid.
        """
        name = self.programs.get(f"{namespace}/{job}", self.default)
        return ThisMachine() if name == DEFAULT else self.runner(name)

    def runner(self, name: str) -> ProgramRunner:
        """Return a runner by its name. Raises like `of_program`."""
        table = self.tables[name]
        module, _, kind = KINDS[table["kind"]].partition(":")
        of_kind = getattr(import_module(f"headwater.backend.rerun.runners.{module}"), kind)
        try:
            runner: ProgramRunner = of_kind.of_table({key: value for key, value in table.items() if key not in ("name", "kind")}, self.home)
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"]))
            raise _invalid(self.home / FILE, f"the runner {name}: {place}: {fault['msg']}") from error
        except HeadwaterError as error:
            raise _invalid(self.home / FILE, f"the runner {name}: {error.message}") from error
        return runner


def _tables(file: Path, stated: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    tables = stated.get("runner", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) and isinstance(table.get("name"), str) for table in tables):
        raise _invalid(file, "each [[runner]] needs a name")
    by_name = {table["name"]: table for table in tables}
    if len(by_name) < len(tables) or DEFAULT in by_name:
        raise _invalid(file, f"two runners have the same name, or one is named {DEFAULT}")
    for table in tables:
        if table.get("kind") not in KINDS:
            raise _invalid(file, f"the kind of {table['name']} is {table.get('kind')!r}, not one of {', '.join(KINDS)}")
    return by_name


def read_runners(file: Path) -> Runners:
    """Read and check all runners of a file. Raises like `Runners.of_home` and `Runners.of_program`."""
    runners = Runners.of_home(file.parent)
    for name in runners.tables:
        runners.runner(name)
    return runners


def _invalid(file: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(f"{file} cannot be used: {reason}.", hint="Correct it; docs/guide/runners.md shows an example.")
