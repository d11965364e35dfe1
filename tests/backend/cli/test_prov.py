"""`headwater prov check` and `headwater import prov`."""

import json

import pytest
from typer.testing import CliRunner

from headwater.backend.cli.export import app as export
from headwater.backend.cli.import_documents import app as imports
from headwater.backend.cli.prov import app
from headwater.errors import ConfigurationError, InvalidProvenanceError

BROKEN = "document\nprefix ex <http://x/>\nentity(ex:e)\nactivity(ex:e)\nspecializationOf(ex:f, ex:f)\nendDocument\n"


def run(command, *arguments):
    return CliRunner().invoke(command, [*map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "broken.provn"
    path.write_text(BROKEN)
    return path


def test_every_broken_constraint_is_listed_with_its_line(broken):
    result = run(app, "check", broken, "--format", "json")
    assert result.exit_code == 1
    assert [(entry["line"], entry["number"]) for entry in json.loads(result.stdout)] == [(4, 55), (5, 52)]


def test_an_export_of_ours_is_valid(lived_in, tmp_path):
    path = tmp_path / "report.json"
    assert run(export, "prov", "/data/out/report", "--home", lived_in, "-o", path).exit_code == 0
    assert run(app, "check", path).exit_code == 0


def test_an_export_is_taken_into_another_home(lived_in, tmp_path):
    path, home = tmp_path / "report.json", tmp_path / "home"
    run(export, "prov", "/data/out/report", "--home", lived_in, "-o", path)
    report = json.loads(run(imports, "prov", path, "--home", home).stdout)
    assert (report["duplicate"], report["left_out"]) == (False, {})
    again = run(export, "prov", "/data/out/report", "--home", home, "--check")
    assert '"wasDerivedFrom"' in again.stdout


def test_a_file_that_breaks_a_constraint_is_not_taken(broken, tmp_path):
    with pytest.raises(InvalidProvenanceError, match=r"line 4: .*Constraint 55"):
        run(imports, "prov", broken, "--home", tmp_path / "home")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"nowhere\.json cannot be read"):
        run(app, "check", tmp_path / "nowhere.json")
