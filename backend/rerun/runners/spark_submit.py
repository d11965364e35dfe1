"""The runner `spark-submit`: the driver runs on this machine, and its executors on a cluster.

[[runner]]
name = "cluster"
kind = "spark-submit"
master = "spark://master.example.com:7077"
submit = "/opt/spark/bin/spark-submit"       # by default that of the installed PySpark
conf = { "spark.executor.memory" = "4g" }
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from headwater.backend.rerun.runners.launch import Launch, StopReason
from headwater.backend.rerun.runners.this_machine import run_process
from headwater.errors import ConfigurationError

_MASTER = re.compile(r"(?:spark|k8s|mesos)://[A-Za-z0-9.,:/_\[\]-]+|yarn|local(?:-cluster)?(?:\[[0-9*,]+\])?")
_PROPERTY = re.compile(r"spark\.[A-Za-z0-9._-]+")


class SparkSubmit(BaseModel):
    """The operator's description of a cluster."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    master: str
    submit: str | None = None
    conf: Mapping[str, str] = {}

    @classmethod
    def of_table(cls, table: Mapping[str, Any], home: Path) -> SparkSubmit:  # noqa: ARG003 - the interface of kinds
        return cls.model_validate(table)

    @field_validator("master")
    @classmethod
    def _is_master(cls, master: str) -> str:
        if not _MASTER.fullmatch(master):
            raise ValueError(f"{master!r} is not a master, such as spark://host:7077 or yarn")
        return master

    @field_validator("submit")
    @classmethod
    def _is_program(cls, submit: str | None) -> str | None:
        if submit is not None and not (Path(submit).is_absolute() and Path(submit).is_file()):
            raise ValueError(f"{submit!r} is not the absolute path of a file")
        return submit

    @field_validator("conf")
    @classmethod
    def _are_properties(cls, conf: Mapping[str, str]) -> Mapping[str, str]:
        for name, value in conf.items():
            if not _PROPERTY.fullmatch(name) or name == "spark.master" or not value.isprintable():
                raise ValueError(f"{name!r} is not a property of Spark with a printable value")
        return conf

    def command(self, launch: Launch) -> list[str]:
        """Return the command line. Each word is one argument, and no shell reads it."""
        from headwater.spark_listener import launch as launcher

        conf = [word for name, value in self.conf.items() for word in ("--conf", f"{name}={value}")]
        return [
            self.submit or _bundled_submit(), "--master", self.master, "--deploy-mode", "client", *conf, launcher.__file__, launch.script,
            *launch.arguments,
        ]  # fmt: skip

    def run(self, launch: Launch, *, stop: StopReason, holding: Collection[int] = ()) -> int:
        mode = {"HEADWATER_MODE": "off"} if "off" in launch.options else {}
        environment = {"PYSPARK_PYTHON": sys.executable, **launch.environment, "PYSPARK_DRIVER_PYTHON": sys.executable, **mode}
        environment |= {"HEADWATER_QUIET": "true"}
        return run_process(
            self.command(launch), working_directory=launch.working_directory, environment=environment, log=launch.log, stop=stop,
            holding=holding, has_session=True,
        )  # fmt: skip


def _bundled_submit() -> str:
    try:
        import pyspark
    except ImportError:
        raise ConfigurationError(
            "The runner has no spark-submit, and PySpark is not installed.", hint="Set `submit` in runners.toml."
        ) from None
    return str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
