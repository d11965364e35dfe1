"""Real OpenLineage events of Great Expectations: its action on validations of a table and of a file.

    python -m tests.producers.expectations     # fetches it into .tools, runs it, and writes events/expectations.jsonl

The action of `openlineage-integration-common` gets the results of real validations. A checkpoint of Great Expectations 1 does not
call it by itself: it calls `run`, which the action does not override. The action's own work is in `_run`.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from tests.databases import PASSWORD, USER, postgres
from tests.producers.keeping import keep
from tests.readers import environment

EXPECTATIONS, OPENLINEAGE = "1.24.1", "1.54.0"
PACKAGES = (
    "psycopg2-binary==2.9.11",
    "sqlalchemy>=1.4,<3",
    f"openlineage-integration-common=={OPENLINEAGE}",
    f"great-expectations=={EXPECTATIONS}",
)
PARENT = "019c1159-7000-702b-bf57-ea3d5dca58ab"  # which Airflow gives the run of its DAG `nightly` for 31 January 2026
_VALIDATES = """
import json, os, sys
import great_expectations as gx
import pandas as pd
from great_expectations.data_context.types.resource_identifiers import ExpectationSuiteIdentifier, ValidationResultIdentifier
from great_expectations.core.run_identifier import RunIdentifier
from openlineage.common.provider.great_expectations import OpenLineageValidationAction

database, file, parent, out = sys.argv[1:]
os.environ["OPENLINEAGE_CONFIG"] = "/nowhere"
os.environ["OPENLINEAGE__TRANSPORT__TYPE"] = "file"
os.environ["OPENLINEAGE__TRANSPORT__LOG_FILE_PATH"] = out
os.environ["OPENLINEAGE__TRANSPORT__APPEND"] = "true"
context = gx.get_context(mode="ephemeral")


def validate(name, batch, expectations, options=None):
    suite = context.suites.add(gx.ExpectationSuite(name=name, expectations=expectations))
    validator = context.get_validator(batch_request=batch, expectation_suite=suite)
    results = validator.validate()
    where = ValidationResultIdentifier(ExpectationSuiteIdentifier(name), RunIdentifier("nightly"), validator.active_batch_id)
    results.meta.setdefault("expectation_suite_name", name)
    action = OpenLineageValidationAction(
        name=name, openlineage_namespace="checks", job_name=name, openlineage_parent_run_id=parent,
        openlineage_parent_job_namespace="airflow", openlineage_parent_job_name="nightly",
    )
    action._run(results, where, validator)


shop = context.data_sources.add_postgres("shop", connection_string=database)
table = shop.add_table_asset("clean", table_name="clean", schema_name="public")
validate("orders_are_paid", table.build_batch_request(), [
    gx.expectations.ExpectColumnValuesToNotBeNull(column="customer"),
    gx.expectations.ExpectColumnMaxToBeBetween(column="amount", min_value=0, max_value=2),
    gx.expectations.ExpectTableRowCountToBeBetween(min_value=1),
])
frame = context.data_sources.add_pandas("files").add_csv_asset("sums", filepath_or_buffer=file)
validate("sums_are_whole", frame.build_batch_request(), [gx.expectations.ExpectColumnValuesToBeUnique(column="customer")])
"""


def main() -> None:
    """Validate a table and a file, and keep the events."""
    python = environment("expectations", PACKAGES)
    with tempfile.TemporaryDirectory(prefix="headwater-expectations-") as made, postgres() as shop:
        folder = Path(made)
        shop.run("CREATE TABLE clean (customer text, amount integer)", "INSERT INTO clean VALUES ('ann', 3), ('bob', 4)")
        (folder / "sums.csv").write_text("customer,total\nann,3\nbob,4\n")
        database = f"postgresql+psycopg2://{USER}:{PASSWORD}@127.0.0.1:{shop.port}/shop"
        arguments = [database, str(folder / "sums.csv"), PARENT, str(folder / "events.jsonl")]
        settings = {name: value for name, value in os.environ.items() if not name.startswith("OPENLINEAGE")}
        subprocess.run(
            [str(python), "-W", "ignore", "-c", _VALIDATES, *arguments],
            cwd=folder, env=settings | {"HOME": made, "GX_ANALYTICS_ENABLED": "false"}, check=True, timeout=300,
        )  # fmt: skip
        events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    keep("expectations.jsonl", events, port=shop.port, usual=5432)


if __name__ == "__main__":
    main()
