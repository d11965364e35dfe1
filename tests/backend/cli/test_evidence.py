"""`headwater evidence` writes bundles of traces, and verifies them without a home."""

from __future__ import annotations

import asyncio
import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.backend.cli.evidence import app
from headwater.errors import ConfigurationError, InvalidInputError, InvalidQueryError, UnsupportedError
from tests.captured import capture_pipeline, log_manifests


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with captured jobs, whose manifests are in its log. Their data is in the folder `data` next to it."""
    folder = tmp_path_factory.mktemp("evidence") / "home"
    asyncio.run(capture_pipeline(folder, folder.parent / "data"))
    log_manifests(folder)
    return folder


def _run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--home", str(home)])


def _verify(bundle: Path, key: str) -> Result:
    return CliRunner().invoke(app, ["verify", str(bundle), "--key", key])


def test_a_bundle_is_exported_and_verified(home: Path, tmp_path: Path) -> None:
    key = _run(home, "key", "--name", "acme/lineage").stdout.strip()
    since, bundle = tmp_path / "since", tmp_path / "bundle.zip"
    assert _run(home, "checkpoint", "-o", str(since)).exit_code == 0
    assert since.read_text().startswith("acme/lineage\n")
    report = str(home.parent / "data" / "report")
    result = _run(home, "export", report, "--where", "true", "-o", str(bundle), "--since", str(since))
    assert result.exit_code == 0, result.output
    assert f"headwater evidence verify {bundle} --key '{key}'" in result.stderr
    with zipfile.ZipFile(bundle) as archive:
        trace, question = json.loads(archive.read("trace.json")), json.loads(archive.read("statement.json"))["question"]
        assert {"records", "exact", "path"} <= trace.keys()
        assert question == {"dataset": report, "where": "true", "column": None, "semantics": "influence", "to": None}
    valid = _verify(bundle, key)
    assert valid.exit_code == 0
    assert "Valid." in valid.stderr
    assert "only grew" in valid.stderr
    rotated = _run(home, "rotate").stdout.strip()
    assert rotated not in ("", key)
    assert rotated == _run(home, "key").stdout.strip()
    assert _verify(bundle, key).exit_code == 0
    assert "NOT valid" in str(_verify(bundle, rotated).exception)
    mistyped = str(_verify(bundle, "acme/lineage").exception)
    assert "is no public key" in mistyped
    assert "NOT valid" not in mistyped  # that would speak about the bundle
    bundle.write_bytes(bundle.read_bytes()[:-1])
    assert "NOT valid" in str(_verify(bundle, key).exception)


def test_bad_input_is_refused(home: Path, tmp_path: Path) -> None:
    report, bundle = str(home.parent / "data" / "report"), str(tmp_path / "b.zip")
    for arguments, error in (
        (["export", report, "--where", "false", "-o", bundle], InvalidInputError),
        (["export", report, "--where", "nothing = 1", "-o", bundle], InvalidQueryError),
        (["export", report, "--where", "true", "-o", bundle, "--since", str(tmp_path / "missing")], ConfigurationError),
        (["export", report, "--where", "true", "-o", bundle, "--since", report], ConfigurationError),
        (["export", report, "--where", "true", "-o", str(tmp_path / "no" / "folder.zip")], ConfigurationError),
    ):
        assert isinstance(_run(home, *arguments).exception, error), arguments
    assert not Path(bundle).exists()
    assert isinstance(
        _verify(tmp_path / "missing", "acme/lineage+c616a676+ATXbsjz2Mge/DGCNAnfzUw4Ylzz8pkQOV56sS89RSXWU").exception, ConfigurationError
    )
    assert isinstance(_verify(Path(__file__), "x").exception, InvalidInputError)


def test_a_log_that_replicas_share_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_INGEST_LOG", "postgresql://nobody@127.0.0.1:1/none")
    assert isinstance(_run(home, "key").exception, UnsupportedError)
