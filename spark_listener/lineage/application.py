"""The facets of an application's START: Spark's properties, variables, and the scheduled time, by allow-lists.

`spark_properties` and `spark_applicationDetails` are facets of OpenLineage's Spark integration. They keep its names, so that its readers
find them here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime

from headwater.spark_listener.lineage.facets import Facet, facet, facets
from headwater.spark_listener.redact import redact, redact_mapping

_log = logging.getLogger("headwater.lineage")
PROPERTIES = (
    "spark.app.id", "spark.app.name", "spark.driver.memory", "spark.dynamicAllocation.enabled", "spark.executor.cores",
    "spark.executor.instances", "spark.executor.memory", "spark.jars.packages", "spark.master", "spark.serializer",
    "spark.sql.adaptive.enabled", "spark.sql.catalogImplementation", "spark.sql.shuffle.partitions", "spark.sql.warehouse.dir",
    "spark.submit.deployMode",
)  # fmt: skip
_DETAILS = {
    "master": "spark.master", "appName": "spark.app.name", "applicationId": "spark.app.id", "deployMode": "spark.submit.deployMode",
    "driverHost": "spark.driver.host", "userName": "spark.headwater.user",
}  # fmt: skip
_DUE = ("AIRFLOW_CTX_LOGICAL_DATE", "AIRFLOW_CTX_EXECUTION_DATE")  # variables in the environment of an Airflow task


def application_facets(
    properties: Mapping[str, str], also: str, recorded: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, Facet]:
    """Return facets of the application's run. `properties` are all of Spark's properties.

    `also` names further properties to send, separated by commas. `recorded` are recorded variables.
    """
    allowed = {*PROPERTIES, *(name.strip() for name in also.split(",") if name.strip())}
    stated = redact_mapping({name: properties[name] for name in sorted(allowed & properties.keys())})
    details = {ours: redact(properties[name]) for ours, name in _DETAILS.items() if properties.get(name)}
    variables = [{"name": name, "value": value} for name, value in recorded.items()]
    return facets(
        spark_properties=facet("spark_properties", properties=stated) if stated else None,
        spark_applicationDetails=facet("spark_applicationDetails", **details) if details else None,
        environmentVariables=facet("environmentVariables", environmentVariables=variables) if variables else None,
        nominalTime=_nominal_time(environ),
    )


def _nominal_time(environ: Mapping[str, str]) -> Facet | None:
    stated = next((environ[name] for name in _DUE if environ.get(name)), None)
    if stated is None:
        return None
    try:
        due = datetime.fromisoformat(stated)
    except ValueError:
        _log.warning("The time at which this program was due is ignored: %r is no ISO 8601.", stated[:100])
        return None
    due = due.replace(tzinfo=UTC) if due.tzinfo is None else due.astimezone(UTC)
    return facet("nominalTime", nominalStartTime=due.isoformat(timespec="microseconds").replace("+00:00", "Z"))
