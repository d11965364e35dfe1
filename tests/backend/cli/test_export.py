"""`headwater export prov` on a home, without a service."""

import json

import pytest
from prov.model import ProvDerivation, ProvDocument
from typer.testing import CliRunner

from headwater.backend.cli.export import app
from headwater.errors import ConfigurationError, InvalidQueryError
from headwater.graph.prov import ProvFormat
from headwater.graph.prov.constraints import check
from headwater.graph.prov.read import read
from tests.stated import REPORT


def prov(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["prov", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_standard_output_holds_nothing_but_the_document(lived_in):
    document = ProvDocument.deserialize(content=prov("/data/out/report", "--home", lived_in), format="json")
    (bundle,) = document.bundles
    assert len(list(bundle.get_records(ProvDerivation))) == 2, "upstream goes through datasets where versions are not known"


def test_a_run_is_exported_into_a_file(lived_in, tmp_path):
    target = tmp_path / "run.json"
    assert prov(f"run:{REPORT}", "--home", lived_in, "-o", target) == ""
    (bundle,) = ProvDocument.deserialize(str(target), format="json").bundles
    assert {str(record.identifier) for record in bundle.get_records()} >= {f"node:run:{REPORT}", "node:dataset:file:/data/out/clean"}


@pytest.mark.parametrize("notation", ProvFormat)
@pytest.mark.filterwarnings("ignore:.*is deprecated.*:DeprecationWarning")
def test_every_notation_can_be_asked_for(lived_in, tmp_path, notation):
    target = tmp_path / "out"
    prov("/data/out/report", "--home", lived_in, "--format", notation, "--check", "-o", target)
    assert check(read(target.read_bytes())) == []
    assert list(tmp_path.iterdir()) == [target], "nothing is left beside it"


def test_a_file_that_cannot_be_written_is_named(lived_in, tmp_path):
    with pytest.raises(ConfigurationError, match=r"no/such/run.json cannot be written"):
        prov(f"run:{REPORT}", "--home", lived_in, "-o", tmp_path / "no" / "such" / "run.json")


def test_options_of_a_record_trace_need_records(lived_in):
    with pytest.raises(InvalidQueryError, match="record trace"):
        prov("/data/out/report", "--home", lived_in, "--column", "wind")


VIEWED = ("/data/out/report", "--mask", "kind=job", "--mask", "name=*clean*", "--direction", "upstream")


def test_a_view_is_exported_without_the_names_of_what_it_hides(lived_in):
    text = prov(*VIEWED, "--home", lived_in, "--check", "-f", "n")
    assert "clean" not in text
    assert "hw:via=" in text


def test_what_lies_between_two_needs_no_other_focus(lived_in):
    text = prov("--between", "/data/raw/weather.csv", "/data/out/report", "--home", lived_in, "-f", "n", "--check")
    assert "job\\:local\\:clean" in text


def test_any_node_can_be_exported_with_what_is_around_it(lived_in):
    assert "runs\\:local\\:report" in prov("job:local:report", "--home", lived_in, "-f", "n", "--check")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("/data/out/report", "--where", "true", "--level", "platform"), "both asked for"),
        (("/data/out/report", "--level", "column", "--level", "dataset"), "Two levels of data"),
        (("/data/out/report", "--level", "tag"), "no level"),
        (("/data/out/report", "--level", "task"), "no task"),
        (("/data/out/report", "--open", "report"), "opens nothing"),
        (("/data/out/report", "--mask", "colour=red"), "no mask"),
        ((), "Nothing is named"),
    ],
)
def test_a_view_that_cannot_be_is_refused(lived_in, asked, said):
    with pytest.raises(InvalidQueryError, match=said):
        prov(*asked, "--home", lived_in)


def catalog(system: str, *arguments: object) -> str:
    result = CliRunner().invoke(app, [system, *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_what_is_known_is_exported_for_other_catalogs(lived_in, tmp_path):
    target = tmp_path / "lineage.json"
    assert catalog("datahub", "--home", lived_in, "--environment", "DEV", "-o", target) == ""
    urns = {proposal["entityUrn"] for proposal in json.loads(target.read_bytes())}
    assert "urn:li:dataset:(urn:li:dataPlatform:file,/data/out/report,DEV)" in urns
    assert "urn:li:dataJob:(urn:li:dataFlow:(openlineage,local,DEV),report)" in urns

    lines = catalog("openmetadata", "--home", lived_in, "--known-as", "file=disk").splitlines()
    assert any(json.loads(line)["path"].startswith("/api/v1/lineage/table/name/disk.default.default.") for line in lines)


def test_a_namespace_that_is_named_badly_is_refused(lived_in):
    with pytest.raises(InvalidQueryError, match="does not say what a namespace is called"):
        catalog("datahub", "--home", lived_in, "--known-as", "file")
