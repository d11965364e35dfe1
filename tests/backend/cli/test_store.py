"""`headwater store`: what keeps a home and its graph, as an operator types it."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from headwater.backend.audit.chain import digest, linked
from headwater.backend.home.settings import load_settings
from headwater.backend.ingest.intake.documents import document_key
from headwater.backend.ingest.log import DeadLetter, Draft, EntryKind, Stage
from headwater.backend.workspace import Workspace
from headwater.graph.records import ANYWHERE, AssociationStore
from headwater.spark_listener.registry import Registry
from tests.backend.cli.command import headwater
from tests.backend.damage import spoil
from tests.graph.jobs import Job, write_csv
from tests.neo4j_server import Neo4jServer, neo4j_server

__all__ = ["neo4j_server"]


@pytest.fixture
def home(lived_in: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lived_in, tmp_path / "home"))


def fingerprint(home: Path) -> str:
    checks = json.loads(headwater("store", "check", "--home", str(home), "-f", "json").stdout)
    return next(check["detail"] for check in checks if check["check"] == "graph").removeprefix("fingerprint ")


def test_a_backup_becomes_the_same_home_elsewhere(home: Path, tmp_path: Path) -> None:
    before = fingerprint(home)
    shown = json.loads(headwater("store", "backup", str(tmp_path / "backup"), "--home", str(home), "-f", "json").stdout)
    assert [entry["fingerprint"] for entry in shown] == [before]
    headwater("store", "restore", str(tmp_path / "backup"), "--home", str(tmp_path / "new"))
    assert fingerprint(tmp_path / "new") == before
    asked = ["lineage", "/data/out/report", "--format", "json", "--home"]
    assert headwater(*asked, str(tmp_path / "new")).stdout == headwater(*asked, str(home)).stdout


@pytest.mark.parametrize("name", ["triggers.db", "workflows.db"])
def test_a_backup_holds_triggers_and_workflows(home: Path, tmp_path: Path, name: str) -> None:
    with closing(sqlite3.connect(home / name)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE kept (name TEXT)")
        database.execute("INSERT INTO kept VALUES ('nightly')")
        database.commit()  # the connection stays open, as that of a service
        headwater("store", "backup", str(tmp_path / "backup"), "--home", str(home))
    headwater("store", "restore", str(tmp_path / "backup"), "--home", str(tmp_path / "new"))
    with closing(sqlite3.connect(tmp_path / "new" / name)) as database:
        assert database.execute("SELECT name FROM kept").fetchall() == [("nightly",)]
    assert (tmp_path / "new" / name).stat().st_mode & 0o077 == 0


def test_a_backup_holds_no_secret_and_is_its_owners_alone(home: Path, tmp_path: Path) -> None:
    (home / "key").write_text("hw_a-very-secret-key\n")
    headwater("store", "backup", str(tmp_path / "backup"), "--home", str(home))
    files = [path for path in (tmp_path / "backup").rglob("*") if path.is_file()]
    assert {"backup.json", "ingest.db", "graph-default.ndjson.gz"} <= {path.name for path in files}
    assert not any(b"a-very-secret-key" in path.read_bytes() for path in files)
    assert (tmp_path / "backup").stat().st_mode & 0o077 == 0


def test_a_backup_holds_the_audit_log_in_whole_lines(home: Path, tmp_path: Path) -> None:
    now, aside = home / "audit.jsonl", "audit-20260101T000000.000000Z.jsonl"
    now.write_text('{"what":"trace"}\n{"what":"ro')
    (home / aside).write_text('{"what":"rows"}\n')
    headwater("store", "backup", str(tmp_path / "backup"), "--home", str(home))
    headwater("store", "restore", str(tmp_path / "backup"), "--home", str(tmp_path / "new"))
    assert (tmp_path / "new" / "audit.jsonl").read_text() == '{"what":"trace"}\n'
    assert (tmp_path / "new" / aside).read_text() == '{"what":"rows"}\n'
    assert all((tmp_path / "new" / name).stat().st_mode & 0o077 == 0 for name in ("audit.jsonl", aside))
    now.unlink()
    (home / aside).unlink()


def test_a_backup_overwrites_nothing(home: Path, tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()
    (tmp_path / "backup" / "mine").touch()
    assert "mine is in it" in headwater("store", "backup", str(tmp_path / "backup"), "--home", str(home), code=2).stderr


def test_a_restoration_overwrites_nothing(home: Path, tmp_path: Path) -> None:
    headwater("store", "backup", str(tmp_path / "backup"), "--home", str(home))
    assert "holds a log already" in headwater("store", "restore", str(tmp_path / "backup"), "--home", str(home), code=2).stderr


@pytest.mark.parametrize("place", ["ingest.db", "associations/default/some/manifest.json", "associations/default"])
def test_a_backup_that_would_bring_in_what_a_link_leads_to_is_refused(home: Path, tmp_path: Path, place: str) -> None:
    headwater("store", "backup", str(tmp_path / "backup"), "--home", str(home))
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "file").write_text("a secret")
    link = tmp_path / "backup" / place
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.exists():
        link.rename(tmp_path / "moved")
    link.symlink_to(tmp_path / "secret" / "file")
    said = headwater("store", "restore", str(tmp_path / "backup"), "--home", str(tmp_path / "new"), code=2).stderr
    assert "is a link or no file" in " ".join(said.split())
    assert not any("a secret" in path.read_text(errors="replace") for path in (tmp_path / "new").rglob("*") if path.is_file())


def test_a_backup_brings_no_program_to_run_and_no_data_to_read(home: Path, tmp_path: Path) -> None:
    (tmp_path / "job.py").touch()
    headwater("jobs", "register", "--home", str(home), "report", str(tmp_path / "job.py"))
    Registry(home).add_roots([str(tmp_path)])
    headwater("store", "backup", str(tmp_path / "backup"), "--home", str(home))
    (tmp_path / "backup" / "registered.db").write_bytes((home / "registered.db").read_bytes())  # as an attacker would
    without_digests(tmp_path / "backup")
    headwater("store", "restore", str(tmp_path / "backup"), "--home", str(tmp_path / "new"))
    assert json.loads(headwater("jobs", "list", "--home", str(tmp_path / "new"), "-f", "json").stdout) == []
    assert not Registry(tmp_path / "new").is_root([str(tmp_path)])


def without_digests(backup: Path) -> None:
    """Have a backup as earlier releases wrote it."""
    index = json.loads((backup / "backup.json").read_text())
    (backup / "backup.json").write_text(json.dumps({name: part for name, part in index.items() if name not in {"files", "check"}}))


def change_entry(log: Path) -> None:
    with closing(sqlite3.connect(log, isolation_level=None)) as database:
        database.execute(
            """UPDATE entry SET body = CAST(replace(CAST(body AS TEXT), '"producer"', '"produces"') AS BLOB) WHERE kind = 'event'"""
        )


def change_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


_CHANGES: dict[str, Callable[[Path], object]] = {
    "ingest.db": change_entry,
    "audit.jsonl": lambda path: path.write_text(path.read_text().replace("trace", "trade", 1)),
    "graph-default.ndjson.gz": change_byte,
    "registered.db": lambda path: path.write_text("added"),
    "backup.json": lambda path: path.write_text(path.read_text().replace('"nodes": 1', '"nodes": 2')),
}


@pytest.mark.parametrize(("name", "earlier"), [*((name, False) for name in _CHANGES), ("ingest.db", True), ("audit.jsonl", True)])
def test_a_backup_that_was_changed_is_refused(home: Path, tmp_path: Path, name: str, earlier: bool) -> None:
    first = b'{"at":"2026-01-01T00:00:00Z","what":"trace"}'
    second = linked(b'{"at":"2026-01-01T00:00:01Z","what":"rows"}', digest(first))
    (home / "audit.jsonl").write_bytes(first + b"\n" + second + b"\n")
    backup = tmp_path / "backup"
    headwater("store", "backup", str(backup), "--home", str(home))
    if earlier:
        without_digests(backup)
    sound = shutil.copytree(backup, tmp_path / "sound")
    _CHANGES[name](backup / name)
    said = headwater("store", "restore", str(backup), "--home", str(tmp_path / "new"), code=2).stderr
    assert "is not what was written" in " ".join(said.split())
    assert name in said.replace("\n", "")
    assert not (tmp_path / "new" / "ingest.db").exists()
    headwater("store", "restore", str(sound), "--home", str(tmp_path / "new"))


@pytest.mark.parametrize("lost", ["backup.json", "ingest.db", "graph-default.ndjson.gz"])
def test_a_backup_that_lacks_something_is_refused(home: Path, tmp_path: Path, lost: str) -> None:
    headwater("store", "backup", str(tmp_path / "backup"), "--home", str(home))
    (tmp_path / "backup" / lost).unlink()
    said = headwater("store", "restore", str(tmp_path / "backup"), "--home", str(tmp_path / "new"), code=2).stderr
    assert lost in said.replace("\n", "")
    assert not (tmp_path / "new" / "ingest.db").exists()


@pytest.mark.parametrize("name", ["graph.ndjson", "graph.ndjson.gz"])
def test_a_graph_moves_to_another_store_and_is_projected_on(home: Path, tmp_path: Path, name: str) -> None:
    printed = headwater("store", "export", str(tmp_path / name), "--home", str(home)).stdout.strip()
    other = f"sqlite:///{tmp_path}/moved.db"
    assert headwater("store", "import", str(tmp_path / name), "--home", str(home), HEADWATER_STORE=other).stdout.strip() == printed
    checks = json.loads(headwater("store", "check", "--home", str(home), "-f", "json", HEADWATER_STORE=other).stdout)
    assert {check["check"]: check["ok"] for check in checks}["projected"]  # the offset came along


def test_a_graph_of_another_home_leaves_this_ones_log_to_be_projected(home: Path, tmp_path: Path) -> None:
    headwater("store", "export", str(tmp_path / "graph.ndjson"), "--home", str(home))
    headwater("store", "import", str(tmp_path / "graph.ndjson"), "--home", str(tmp_path / "new"))
    checks = json.loads(headwater("store", "check", "--home", str(tmp_path / "new"), "-f", "json", code=1).stdout)
    by_name = {check["check"]: check for check in checks}
    assert by_name["projected"]["detail"] == "0 of 0"
    assert not by_name["graph"]["ok"]  # it holds what its log does not say


def test_a_cut_file_is_refused(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "graph.ndjson"
    headwater("store", "export", str(file), "--home", str(home))
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    assert "it was cut" in headwater("store", "import", str(file), "--home", str(tmp_path / "new"), code=2).stderr


def test_migrating_says_what_it_did(home: Path, tmp_path: Path) -> None:
    assert "Migrations taken: 1" in headwater("store", "migrate", "--home", str(tmp_path / "new")).stderr
    assert "up to date" in headwater("store", "migrate", "--home", str(home)).stderr


@pytest.mark.neo4j
def test_a_graph_moves_from_sqlite_to_neo4j_and_back(home: Path, tmp_path: Path, neo4j_server: Neo4jServer) -> None:
    server = {
        "HEADWATER_STORE": neo4j_server.uri,
        "HEADWATER_STORE_USER": neo4j_server.user,
        "HEADWATER_STORE_PASSWORD": neo4j_server.password,
    }
    there, back = tmp_path / "there.ndjson", tmp_path / "back.ndjson"
    first = headwater("store", "export", str(there), "--home", str(home)).stdout
    assert headwater("store", "import", str(there), "--home", str(home), **server).stdout == first
    assert headwater("store", "export", str(back), "--home", str(home), **server).stdout == first
    assert headwater("store", "import", str(back), "--home", str(home), HEADWATER_STORE=f"sqlite:///{tmp_path}/again.db").stdout == first
    headwater("store", "check", "--home", str(home), **server)


def test_a_graph_that_knows_less_than_its_log_says_what_and_what_to_do(home: Path) -> None:
    with sqlite3.connect(home / "graph.db") as graph:  # as an older version would have made it
        graph.execute("DELETE FROM edge WHERE dst IN (SELECT key FROM node WHERE kind = 'version')")
        graph.execute("DELETE FROM edge WHERE src IN (SELECT key FROM node WHERE kind = 'version')")
        (removed,) = graph.execute("SELECT count(*) FROM node WHERE kind = 'version'").fetchone()
        assert removed
        graph.execute("DELETE FROM node WHERE kind = 'version'")
    graph.close()
    checks = json.loads(headwater("store", "check", "--home", str(home), "-f", "json", code=1).stdout)
    (said,) = [check["detail"] for check in checks if not check["ok"]]
    assert f"lacks nodes that the log tells of ({removed} of kind version); one that an older Headwater made does" in said
    assert "`headwater store rebuild` makes it again from the log; nothing is lost by it." in said
    headwater("store", "rebuild", "--home", str(home))
    headwater("store", "check", "--home", str(home))


def test_every_refused_entry_is_counted_however_many_letters_came_before(home: Path) -> None:
    async def refuse() -> None:
        async with await Workspace.open(load_settings(home=home)) as workspace:
            workspace.log.bury("default", [DeadLetter(Stage.INTAKE, "no", str(number).encode()) for number in range(120)]).result()
            drafts = [Draft(EntryKind.EVENT, document_key([number]), f"[{number}]".encode()) for number in range(7)]
            workspace.log.append("default", drafts).result()
            await workspace.settle()

    asyncio.run(refuse())
    checks = {check["check"]: check for check in json.loads(headwater("store", "check", "--home", str(home), "-f", "json", code=1).stdout)}
    assert not checks["refused"]["ok"]
    assert checks["refused"]["detail"].count("entry") == 5
    assert checks["refused"]["detail"].endswith("and 2 more")
    headwater("store", "check", "--home", str(home), code=1)  # looking changes nothing
    assert "120" not in checks["refused"]["detail"]
    at_intake = checks["refused at intake"]
    assert (at_intake["ok"], at_intake["detail"].count(", 1×: no"), at_intake["detail"][:17]) == (True, 5, "115 before these;")


@pytest.mark.parametrize(
    "command", [["lineage", "/data/out/report"], ["store", "rebuild"], ["store", "backup", "{folder}"], ["serve", "--port", "0"]]
)
def test_a_damaged_log_is_an_error_that_names_it_and_no_traceback(home: Path, tmp_path: Path, command: list[str]) -> None:
    spoil(home / "ingest.db", begin=0)
    asked = [word.format(folder=tmp_path / "backup") for word in command]
    said = headwater(*asked, "--home", str(home), code=1).stderr
    assert f"{home}/ingest.db is damaged" in said.replace("\n", "")
    assert "headwater store repair" in said
    assert "Traceback" not in said


def test_prune_says_what_may_go_then_drops_it_and_is_audited(tmp_path: Path) -> None:
    home, out = tmp_path / "home", tmp_path / "out"
    store = AssociationStore(home / "associations", sources=ANYWHERE)
    for clock in (1, 2):
        raw = write_csv(tmp_path / f"{clock}.csv", ["k", "v"], [["a", clock]])
        job = Job(store, "copy", clock, part=f"run{clock}")
        job.write(job.scan(raw, "csv", {"k": "string", "v": "int"}, {"header": "true"}), out, "parquet", ["k", "v"], files=1)
        if clock == 1:
            first = job
    store.close()
    tables = list(home.glob("associations/*/*/*/b*.parquet"))
    asked = ["store", "prune", "--replaced-days", "0", "--dataset", f"{tmp_path}/*", "--home", str(home), "-f", "json"]
    dry = json.loads(headwater(*asked, "--dry-run").stdout)
    assert [(row["dataset"], row["captures"]) for row in dry] == [(str(out), 1)]
    assert list(home.glob("associations/*/*/*/b*.parquet")) == tables
    assert not (home / "audit.jsonl").exists()
    assert json.loads(headwater(*asked).stdout) == dry
    assert len(list(home.glob("associations/*/*/*/b*.parquet"))) == len(tables) - 1
    before, after = map(json.loads, (home / "audit.jsonl").read_text().splitlines())
    assert (before["what"], before["captures"]) == ("store.prune", 1)
    assert (after["what"], after["bytes"]) == ("store.prune.end", dry[0]["bytes"])
    assert before["who"]
    assert "replaced 0 days ago" in before["policy"]
    assert json.loads(headwater(*asked).stdout) == []
    story = headwater("trace", str(out), "--as-of", first.run, "--where", "true", "--home", str(home)).stdout
    assert "pruned by" in story
    assert "not exact" in story
    damaged = [check for check in json.loads(headwater("store", "check", "--home", str(home), "-f", "json").stdout) if not check["ok"]]
    assert not damaged


def test_a_prune_that_cannot_be_audited_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = AssociationStore(home / "associations", sources=ANYWHERE)
    for clock in (1, 2):
        raw = write_csv(tmp_path / f"{clock}.csv", ["k", "v"], [["a", clock]])
        job = Job(store, "copy", clock, part=f"run{clock}")
        job.write(job.scan(raw, "csv", {"k": "string", "v": "int"}, {"header": "true"}), tmp_path / "out", "parquet", ["k", "v"], files=1)
    store.close()
    (home / "audit.jsonl").mkdir()
    tables = list(home.glob("associations/*/*/*/b*.parquet"))
    refused = headwater("store", "prune", "--replaced-days", "0", "--home", str(home), code=4)
    assert "nothing is changed" in refused.stderr
    assert list(home.glob("associations/*/*/*/b*.parquet")) == tables
