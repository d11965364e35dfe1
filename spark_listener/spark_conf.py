"""Headwater's settings in Spark's configuration: `spark.headwater.*`, and some settings of OpenLineage's Spark integration.

Read once, when a SparkContext has started, so that a platform team can set them in `spark-defaults.conf`. Options of the command line and
of `attach` take precedence over variables, and variables over these. The log reports invalid values, and the program continues.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headwater.errors import ConfigurationError
from headwater.spark_listener.lineage.application import application_facets
from headwater.spark_listener.lineage.facets import Facet, facet
from headwater.spark_listener.operations import OPERATIONS
from headwater.spark_listener.redact import redact
from headwater.spark_listener.secrets import is_secret_name
from headwater.spark_listener.settings import Settings, parsed

_log = logging.getLogger("headwater")

# Settings by `spark.headwater.NAME`, also of the whole process (quiet).
_OURS = {
    "mode": "mode", "traceBudget": "trace_budget", "home": "home", "namespace": "namespace", "name": "name", "url": "url",
    "apiKey": "api_key", "segments": "segments", "readable": "readable", "exitWait": "exit_wait", "spoolBytes": "spool_bytes",
    "rddRecords": "rdd_records", "recordEnv": "environment", "leaveOut": "leave_out", "sourceCode": "source_code",
    "skipFailing": "skip_failing",
    "quiet": "quiet",
}  # fmt: skip
_THEIRS = {"namespace": "namespace", "appName": "name"}
_PARENTS = {
    "parentRunId": "OPENLINEAGE_PARENT_RUN_ID", "parentJobName": "OPENLINEAGE_PARENT_JOB_NAME",
    "parentJobNamespace": "OPENLINEAGE_PARENT_JOB_NAMESPACE", "rootParentRunId": "OPENLINEAGE_ROOT_PARENT_RUN_ID",
    "rootParentJobName": "OPENLINEAGE_ROOT_PARENT_JOB_NAME", "rootParentJobNamespace": "OPENLINEAGE_ROOT_PARENT_JOB_NAMESPACE",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SparkConf:
    """Settings in Spark's configuration.

    `ours` are those below `spark.headwater.`, `theirs` those below `spark.openlineage.`, without prefixes.

    `everything` are all properties as Spark shows them: it hides values that it considers secret. Few of them are sent
    (`lineage.application`).
    """

    ours: Mapping[str, str]
    theirs: Mapping[str, str]
    everything: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, context: Any) -> SparkConf:
        conf = context._jsc.sc().conf()  # noqa: SLF001  # PySpark has no public way to a part of it; all of it is a call for each property
        lines = (line.partition("=") for line in str(conf.toDebugString()).splitlines())
        everything = {name: value for name, _, value in lines if name.startswith("spark.")}
        everything["spark.headwater.user"] = str(context.sparkUser())
        return cls(_below(conf, "spark.headwater."), _below(conf, "spark.openlineage."), everything)

    def over(self, settings: Settings) -> Settings:
        """Return the settings, with values of the configuration for those that no option or variable sets."""
        if settings.apart:
            return settings
        wanted = {field: self.theirs[name] for name, field in _THEIRS.items() if self.theirs.get(name)}
        wanted |= {field: self.ours[name] for name, field in _OURS.items() if self.ours.get(name)}
        for field, value in wanted.items():
            if field in settings.chosen:
                continue
            try:
                settings = replace(settings, **{field: parsed(field, value)})
            except ConfigurationError as error:
                _log.warning("A setting of Spark's configuration is ignored: %s", error)
        unknown = sorted(set(self.ours) - set(_OURS) - {"enabled"} - {name for name in self.ours if name.startswith(OPERATIONS)})
        if unknown:
            _log.warning("There is no setting spark.headwater.%s; there are %s.", unknown[0], ", ".join(_OURS))
        return settings

    def parents(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment, with the configuration's parent run if the environment names none."""
        given = {variable: self.theirs[name] for name, variable in _PARENTS.items() if self.theirs.get(name)}
        return {**given, **environ}

    def job_facets(self) -> dict[str, Facet]:
        """Return tags and owners of the application and its jobs.

        `job.tags` is `key:value;key`, `job.owners.TYPE` is a list of names separated by `;`.
        """
        facets = {}
        if tags := _tags(self.theirs.get("job.tags", "")):
            facets["tags"] = facet("tags", tags=tags)
        owners = [
            {"name": redact(name.strip()), "type": key.removeprefix("job.owners.")}
            for key, names in sorted(self.theirs.items())
            if key.startswith("job.owners.")
            for name in names.strip("[]").split(";")
            if name.strip()
        ]
        if owners:
            facets["ownership"] = facet("ownership", owners=owners)
        return facets

    def run_facets(self, recorded: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, Facet]:
        """Return the facets of the application's run: tags (`run.tags`, like `job.tags`), properties, `recorded` variables, due time."""
        tags = _tags(self.theirs.get("run.tags", ""))
        stated = application_facets(self.everything, self.theirs.get("capturedProperties", ""), recorded, environ)
        return {**stated, **({"tags": facet("run_tags", tags=tags)} if tags else {})}


def _tags(text: str) -> list[dict[str, str]]:
    """Parse `key:value:source;key2`, the notation of OpenLineage's Spark integration. A value under a secret's name is left out."""
    tags = []
    for part in text.strip("[]").split(";"):
        key, _, rest = part.strip().partition(":")
        value, _, source = rest.partition(":")
        if key and not is_secret_name(key):
            tags.append({"key": redact(key), "value": redact(value) or "true", "source": source or "CONFIG"})
    return tags


def _below(conf: Any, prefix: str) -> dict[str, str]:
    return {str(pair._1()): str(pair._2()) for pair in conf.getAllWithPrefix(prefix)}  # noqa: SLF001  # a tuple of Scala
