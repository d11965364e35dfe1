"""`headwater export prov` on a home, without a service."""

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
