"""Missing captures, and older copies of files that are made of the log: each is reported, no answer is short and exact, all is mended."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from headwater.backend.home.settings import load_settings
from headwater.backend.operate.soundness.files import all_faults, quick_faults
from headwater.backend.operate.soundness.store import check_home
from headwater.backend.workspace import Workspace
from headwater.errors import HeadwaterError
from headwater.graph.records import AssociationStore
from headwater.graph.records.layout import read_manifest
from tests.backend.cli.command import headwater
from tests.backend.damage import whole_in_one_file
from tests.backend.harm import chain
from tests.graph.jobs import TENANT


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chain")
    asyncio.run(chain.make(folder / "home", folder / "data"))
    for name in ("ingest.db", "graph.db", "associations/catalog.db"):
        whole_in_one_file(folder / "home" / name)
    headwater("store", "backup", str(folder / "backup"), "--home", str(folder / "home"))
    return folder


@pytest.fixture
def home(sound: Path, tmp_path: Path) -> Path:
    return chain.copy_of(sound / "home", tmp_path / "home")


def folders(home: Path) -> dict[str, Path]:
    """The folder of the capture of each job."""
    kept = [folder for _, folder in AssociationStore.kept_folders(home / "associations")]
    return {read_manifest(folder).run.job: folder for folder in kept}


def no_wrong_answer(home: Path, sound: Path) -> list[bool]:
    """Check that each answer is the true one, or incomplete by its own word. Return which of them are true."""
    answers = asyncio.run(chain.answers(sound / "home", sound / "data"))
    true = [chain.records(answer) for answer in answers if not isinstance(answer, HeadwaterError)]
    found = asyncio.run(chain.answers(home, sound / "data"))
    pairs = zip(found, true, strict=True)
    is_true = [not isinstance(answer, HeadwaterError) and chain.records(answer) == expected for answer, expected in pairs]
    for answer, is_right in zip(found, is_true, strict=True):
        assert is_right or isinstance(answer, HeadwaterError) or not answer.exact
    return is_true


def checked(home: Path, *, ok: bool) -> str:
    findings = asyncio.run(check_home(load_settings(home=home), TENANT))
    wrong = [f"{finding.check}: {finding.detail}" for finding in findings if not finding.ok]
    assert (not wrong) == ok, wrong
    return "\n".join(wrong)


@pytest.mark.parametrize("job", ["first", "third"])
def test_a_capture_that_is_gone_is_named_and_comes_back_from_a_backup(sound: Path, home: Path, job: str) -> None:
    folder = folders(home)[job]
    shutil.rmtree(folder)
    assert folder.name in checked(home, ok=False)
    no_wrong_answer(home, sound)
    shown = headwater("store", "repair", "--home", str(home), "-f", "json", code=1).stdout
    assert [(each["file"], each["ok"]) for each in json.loads(shown)] == [(str(folder), False)]
    headwater("store", "repair", "--home", str(home), "--from", str(sound / "backup"))
    assert all(no_wrong_answer(home, sound))
    checked(home, ok=True)


@pytest.mark.parametrize("job", ["second"])
def test_a_catalog_made_anew_does_not_forget_what_is_gone(sound: Path, home: Path, job: str) -> None:
    shutil.rmtree(folders(home)[job])
    for file in (home / "associations").glob("catalog.db*"):
        file.unlink()
    no_wrong_answer(home, sound)
    assert "missing" in checked(home, ok=False)
    headwater("store", "repair", "--home", str(home), "--from", str(sound / "backup"))
    assert all(no_wrong_answer(home, sound))
    checked(home, ok=True)


def test_a_damaged_capture_that_a_new_catalog_leaves_out_makes_no_answer_exact(sound: Path, home: Path) -> None:
    (folders(home)["second"] / "files.json").write_text("[]")
    (home / "associations" / "catalog.db").unlink()
    no_wrong_answer(home, sound)


def older_catalog(home: Path, *, captures: int) -> bytes:
    """The catalog as it was when it knew some captures fewer."""
    path = home / "associations" / "catalog.db"
    whole = path.read_bytes()
    store = AssociationStore(home / "associations", sources=chain.ANYWHERE)
    for entry in store.catalog.captures(TENANT)[captures:]:
        store.catalog.forget(TENANT, entry.capture)
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE generation SET number = ?", [captures])
    whole_in_one_file(path)
    older = path.read_bytes()
    path.write_bytes(whole)
    return older


@pytest.mark.parametrize(("captures", "with_digest"), [(0, False), (2, False), (2, True)])
def test_an_older_copy_of_the_catalog_is_seen_without_a_walk_and_made_anew(
    sound: Path, home: Path, captures: int, with_digest: bool
) -> None:
    path = home / "associations" / "catalog.db"
    path.write_bytes(older_catalog(home, captures=captures))
    if not with_digest:  # as a backup brings it back
        path.with_suffix(".sha256").unlink()
    assert [fault.path for fault in quick_faults(load_settings(home=home))] == [path]
    assert all(no_wrong_answer(home, sound))  # whoever opens the home makes it anew
    assert not list(quick_faults(load_settings(home=home)))


def test_a_catalog_that_lacks_rows_is_found_by_the_walk_and_mended(sound: Path, home: Path) -> None:
    path = home / "associations" / "catalog.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DELETE FROM consumed WHERE capture = (SELECT max(number) FROM capture)")
    assert str(path) in [str(fault.path) for fault in all_faults(load_settings(home=home))]
    headwater("store", "repair", "--home", str(home))
    assert all(no_wrong_answer(home, sound))
    checked(home, ok=True)


def findings(home: Path) -> dict[str, str]:
    return {finding.check: finding.detail for finding in asyncio.run(check_home(load_settings(home=home), TENANT))}


def of_an_earlier_release(home: Path) -> None:
    for folder in folders(home).values():
        (folder / "digests.json").unlink()


def test_captures_of_an_earlier_release_are_used_said_and_get_their_checksums(sound: Path, home: Path) -> None:
    of_an_earlier_release(home)
    assert all(no_wrong_answer(home, sound))
    assert "3 captures have none" in findings(home)["checksums"]
    headwater("store", "rebuild", "--home", str(home))
    assert findings(home)["checksums"] == "3 captures have them"
    assert all(no_wrong_answer(home, sound))


def test_a_rebuild_does_not_make_damage_to_such_a_capture_permanent(sound: Path, home: Path) -> None:
    of_an_earlier_release(home)
    spoil_rows(folders(home)["second"] / "files.json")
    headwater("store", "rebuild", "--home", str(home))
    assert "files.json" in checked(home, ok=False)
    assert not (folders(home)["second"] / "digests.json").exists()
    headwater("store", "repair", "--home", str(home))
    assert all(no_wrong_answer(home, sound))
    checked(home, ok=True)


def spoil_rows(path: Path) -> None:
    """Have a list of files tell another length of one, and be JSON still."""
    files = json.loads(path.read_text())
    files[0][1] += 1
    path.write_text(json.dumps(files))


def test_an_older_copy_of_the_graph_catches_up(sound: Path, home: Path) -> None:
    async def take_in_more() -> None:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            for number in range(10, 20):
                workspace.events.submit(TENANT, chain.body(chain.run_event(number))).result()
            assert await workspace.settle() == 0

    older = (home / "graph.db").read_bytes()
    asyncio.run(take_in_more())
    whole_in_one_file(home / "graph.db")
    (home / "graph.db").write_bytes(older)
    checked(home, ok=True)
