"""Programs of others that tests run as they are published: readers of our exports (DataHub, OpenMetadata), and dbt, which sends events.

Fetched once, into .tools, by uv, each into an environment apart. None is a dependency of the project.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.lake import _TOOLS, _once

DATAHUB, OPENMETADATA = "1.7.0.17", "2.0.7.0"

_READ_BY_DATAHUB = """
import json, sys
from datahub.ingestion.source.file import read_metadata_file
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata.urns import Urn
from pathlib import Path
found = []
for change in read_metadata_file(Path(sys.argv[1])):
    assert isinstance(change, MetadataChangeProposalWrapper), f"the aspect is not understood: {change}"
    assert change.validate(), change
    urn = Urn.from_string(change.entityUrn)
    assert urn.entity_type == change.entityType, urn
    found.append([change.entityUrn, change.aspectName, change.aspect.to_obj()])
json.dump(found, sys.stdout)
"""
_READ_BY_OPENMETADATA = """
import importlib, importlib.util, json, sys, types
# What the package itself loads at first is for its profiler; the models need none of it.
package = types.ModuleType("metadata")
package.__path__ = list(importlib.util.find_spec("metadata").submodule_search_locations)
sys.modules["metadata"] = package
schemas = {
    "type/entityLineage.json#/definitions/lineageDetails": ("type.entityLineage", "LineageDetails"),
}
def model(schema):
    module, name = schemas.get(schema) or (schema.removesuffix(".json").replace("/", "."), None)
    name = name or module.rpartition(".")[2][:1].upper() + module.rpartition(".")[2][1:] + "Request"
    return getattr(importlib.import_module(f"metadata.generated.schema.{module}"), name)
for line in open(sys.argv[1], encoding="utf-8"):
    request = json.loads(line)
    model(request["schema"]).model_validate(request["body"], strict=False)
print("valid")
"""


def datahub() -> Path:
    """The Python that has DataHub's client."""
    return environment("datahub", [f"acryl-datahub=={DATAHUB}"])


def openmetadata() -> Path:
    """The Python that has OpenMetadata's models, without what else their package asks for."""
    needed = ["pydantic>=2.12,<3", "email-validator>=2", "cached-property==1.5.2"]
    return environment("openmetadata", needed, ["--no-deps", f"openmetadata-ingestion=={OPENMETADATA}"])


def dbt() -> Path:
    """The Python environment with dbt and its wrapper for OpenLineage, over DuckDB."""
    return environment("dbt", ["dbt-core==1.10.23", "dbt-duckdb==1.10.1", "openlineage-dbt==1.54.0"])


def read_by_datahub(file: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """The URN, name and content of each aspect of a file, as DataHub's file source reads them; each is valid by its own check."""
    return [tuple(each) for each in json.loads(_run(datahub(), _READ_BY_DATAHUB, file))]


def check_by_openmetadata(file: Path) -> None:
    """Each line of a file is a request that OpenMetadata's published models take."""
    assert _run(openmetadata(), _READ_BY_OPENMETADATA, file) == "valid\n"


def environment(name: str, *wanted: Sequence[str]) -> Path:
    """The Python of an environment of its own with these packages; the last is pinned, and names it."""
    folder = _TOOLS / f"reader-{name}-{wanted[-1][-1].partition('==')[2]}"
    python = folder / "lib/bin/python"
    with _once(folder) as absent:
        if absent:
            uv = shutil.which("uv") or str(_TOOLS / "uv/bin/uv")
            subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder / "lib")], check=True)
            for packages in wanted:
                subprocess.run([uv, "pip", "install", "-q", "--python", str(python), *packages], check=True)
    return python


def _run(python: Path, program: str, file: Path) -> str:
    environment = {"HOME": str(file.parent), "DATAHUB_TELEMETRY_ENABLED": "false", "PATH": "/usr/bin:/bin"}
    command = [str(python), "-W", "ignore", "-c", program, str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
