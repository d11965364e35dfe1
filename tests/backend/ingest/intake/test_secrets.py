"""Secrets planted in every place of every input: none is kept, in the log, among the dead letters, in the graph, or in the log lines."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.backend.home.settings import DEFAULT_TENANT, load_settings
from headwater.backend.ingest.intake import redaction
from headwater.backend.ingest.intake.redaction import kept_of, redact, redact_text
from headwater.backend.workspace import Workspace
from headwater.errors import HeadwaterError
from headwater.spark_listener import secrets
from headwater.spark_listener.redact import redact_deep
from headwater.spark_listener.secrets import is_suspect, may_hold_secret
from tests.backend.captures import capture
from tests.backend.events import facet, run_event

_TEXT, _NUMBER = "Zq9xKw7vTr3m", 918273645546372
_NAMES = (
    "password", "db_password", "dbPassword", "PASSWD", "pwd", "secret", "client_secret", "spark.hadoop.fs.s3a.secret.key", "api_key",
    "AWS_ACCESS_KEY_ID", "fs.azure.account.key.x", "private-key", "credentials", "authorization", "token", "refresh_token", "githubToken",
    "accessToken", "apiKey", "passphrase", "connectionString", "Cookie",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    _TEXT, _NUMBER, float(_NUMBER), [_TEXT], [[_NUMBER]], {"value": _TEXT}, {"a": [{"b": _NUMBER}]}, [None, {_TEXT: True}], [True, _TEXT],
)  # fmt: skip
_NAMED: tuple[Callable[[str, Any], Any], ...] = (
    lambda name, value: {name: value},
    lambda name, value: {"key": name, "value": value},
    lambda name, value: {"value": value, "name": name},
    lambda name, value: {"option": name, "values": value},
    lambda name, value: [["x", 1], [name, value]],
    lambda name, value: ["job.py", f"--{name}", value],
    lambda name, value: json.dumps({"a": [{name: value}]}),
    lambda name, value: json.dumps({"conf": json.dumps({name: value})}),
    lambda name, value: f"see {json.dumps({'entry': {'name': name, 'value': value}}, indent=1)}",
)
_TEXTS = (
    "jdbc:postgresql://app:{}@db:5432/x", "jdbc:postgresql://db/x?user=a&password={}&ssl=true", "jdbc:sqlserver://h;user=sa;password={};x=1",
    "jdbc:oracle:thin:scott/{}@//db:1521/x", "s3a://KEY:{}/x+y@bucket/a", "https://u:p@ss{}@host/x", "https://host/x?sv=1&sig={}",
    "CREATE USER a IDENTIFIED BY '{}'", "CREATE TABLE t USING jdbc OPTIONS (user 'a', password '{}')", "OPTIONS ('password' = '{}')",
    "SET spark.x.password={}", "spark-submit --conf spark.x.secret={} job.py", "job.py --password {} --month 2", "password: {}",
    "Authorization: Bearer {}", "Authorization: Basic {}==", "<password>{}</password>", "?password%3D{}", "AccountKey={}==;x",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9.{}.abc", 'token = "{}"', "pwd => '{}'",
)  # fmt: skip


def _shows(kept: bytes | str) -> bool:
    text = kept.decode("utf-8", "replace") if isinstance(kept, bytes) else kept
    return _TEXT in text or str(_NUMBER) in text


def _files_that_show(folder: Path) -> list[str]:
    """Files below a folder that hold a secret, each with what stands before it."""
    files = [(file.name, file.read_bytes()) for file in folder.rglob("*") if file.is_file()]
    secrets = (_TEXT.encode(), str(_NUMBER).encode())
    return [f"{name}: {held[max(0, at - 120) : at + 30]!r}" for name, held in files for secret in secrets if (at := held.find(secret)) >= 0]


def _planted() -> list[Any]:
    named = [form(name, value) for form in _NAMED for name in _NAMES[:: 1 if form is _NAMED[0] else 5] for value in _VALUES]
    return [*named, *(text.format(_TEXT) for text in _TEXTS)]


@pytest.mark.parametrize("name", _NAMES)
def test_values_of_every_type_go_under_a_secrets_name(name: str) -> None:
    assert [value for value in _VALUES if _shows(json.dumps(redact({"a": [{name: value}]})))] == []


@pytest.mark.parametrize("text", _TEXTS)
def test_a_secret_goes_from_texts(text: str) -> None:
    clean = redact_text(text.format(_TEXT))
    assert not _shows(clean)
    assert redact_text(clean) == clean


@pytest.mark.parametrize(
    "text", ["SELECT max(wind) FROM weather WHERE origin = 'EWR'", "monkey=1; passenger: 3", "a@b.org", "http://h:80/a@b"]
)
def test_texts_without_secrets_stay(text: str) -> None:
    assert redact_text(text) == text


_WRAPPERS = st.sampled_from(["a", "entry", "fields", "properties", "columns", "facets", "tags"])
_AROUND = st.recursive(
    st.just("HERE"),
    lambda inner: st.dictionaries(_WRAPPERS, inner, min_size=1, max_size=2) | st.lists(inner, min_size=1, max_size=3),
    max_leaves=4,
)


def _filled(around: Any, plant: Any) -> Any:
    if isinstance(around, dict):
        return {name: _filled(child, plant) for name, child in around.items()}
    return [_filled(child, plant) for child in around] if isinstance(around, list) else plant


@given(_AROUND, st.sampled_from(_planted()), st.sampled_from([redact, redact_deep]))
def test_no_secret_stays_wherever_it_is_planted(around: Any, plant: Any, redaction: Callable[[Any], Any]) -> None:
    clean = redaction(_filled(around, plant))
    assert not _shows(json.dumps(clean, ensure_ascii=False))
    assert redaction(clean) == clean


@given(_AROUND, st.sampled_from(_planted()), st.integers(0, 400), st.booleans())
def test_what_is_kept_of_a_refused_body_shows_no_secret(around: Any, plant: Any, cut: int, escaped: bool) -> None:
    body = json.dumps({"eventType": 5, "x": _filled(around, plant)}, ensure_ascii=escaped).encode()
    assert not _shows(kept_of(body))
    assert not _shows(kept_of(body[: max(1, len(body) - cut)]))
    assert not _shows(kept_of(b'{"password": "%s", "password": null, ' % _TEXT.encode() + body[1:]))


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with await Workspace.open(load_settings(home=tmp_path / "home")) as opened:
        yield opened


def _event(number: int, plant: Any) -> dict[str, Any]:
    """An event with a secret in the place that its number says."""
    event, planted = run_event(number), facet(planted=plant)
    place = number % 6
    if place == 0:
        event["run"]["facets"] = {"x": planted}
    elif place == 1:
        event["job"]["facets"] = {"sql": facet(query=plant if isinstance(plant, str) else json.dumps(plant))}
    elif place == 2:
        event["inputs"][0]["facets"] = {"x": planted}
    elif place == 3:
        event["outputs"][0]["outputFacets"] = {"x": planted}
    elif place == 4:
        event["entry"] = {"deep": [planted]}
    else:
        event["run"]["facets"] = {"password": facet(x=_TEXT), "errorMessage": facet(message=json.dumps(plant))}
    return event


def _manifest() -> dict[str, Any]:
    manifest, _ = capture(1)
    problem = {"operator": "x", "reason": f"password={_TEXT}", "kind": "fault"}
    manifest |= {"entry": [{"password": _NUMBER}], "cost": {"token": [_TEXT]}, "problems": [problem]}
    manifest["sources"][0]["options"] = {"password": _NUMBER, "url": f"jdbc:x://u:{_TEXT}@h/d", "a": {"secret": [_TEXT]}}
    manifest["sources"][0]["files"][0]["secret"] = [_NUMBER]
    manifest["sink"]["options"] = {"query": f"SELECT 1 -- password '{_TEXT}'"}
    operator = {"text": f"JDBC [password={_TEXT}]", "options": {"key": "pwd", "value": _NUMBER}, "x": [{"api_key": [_TEXT]}]}
    manifest["operators"][0] |= operator
    return manifest


async def test_no_file_of_the_home_holds_a_secret_that_came_in(
    workspace: Workspace, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    events = [_event(number, plant) for number, plant in enumerate(_planted()[::3])]
    refused = [{**event, "eventTime": f"password={_TEXT}"} for event in events]
    reports = [workspace.events.submit(DEFAULT_TENANT, json.dumps(event).encode()).result() for event in [*events, *refused]]
    assert sum(report.accepted for report in reports) == len(events)
    assert not _shows(repr([report.rejected for report in reports]))
    for sent in (_manifest(), {**_manifest(), "mode": 5, "capture": f"password={_TEXT}"}):
        with pytest.raises(HeadwaterError):  # of the first the segments never came
            workspace.captures.submit(DEFAULT_TENANT, json.dumps(sent).encode())
    for body in (
        b'document\nentity(ex:a, [ex:password="%s"])\nendDocument' % _TEXT.encode(),
        b'{"entity": {"a": {"password": %d}, }}' % _NUMBER,
    ):
        with pytest.raises(HeadwaterError):
            workspace.prov.submit(DEFAULT_TENANT, body)
    attributes = b'{"ex:password": %d, "ex:secret": "%s"}' % (_NUMBER, _TEXT.encode())
    workspace.prov.submit(DEFAULT_TENANT, b'{"prefix": {"ex": "http://e/"}, "entity": {"ex:a": %s}}' % attributes)
    assert await workspace.settle() == 0
    assert await asyncio.to_thread(_files_that_show, tmp_path) == []
    assert not _shows(caplog.text)


_PIECES = st.sampled_from(
    [
        *_NAMES,
        *(text.format(_TEXT) for text in _TEXTS),
        "pa\u017f\u017fword",
        "to\u212aen",
        "s\u0130g",
        "o_orderkey",
        "key",
        "plain",
        "?x=1",
        "",
    ]
)
_DOCUMENTS = st.recursive(
    _PIECES | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_PIECES | st.sampled_from(["name", "value", "fields"]), inner, max_size=3),
    max_leaves=6,
)


@given(_DOCUMENTS)
def test_a_document_in_which_no_secret_may_be_is_left_as_it_is(document: Any) -> None:
    if not may_hold_secret(json.dumps(document, ensure_ascii=False)):
        assert redact_deep(document) is document


_AROUND = st.sampled_from(
    ["=", " = ", ": ", "'x'", '"', "'", " ", "#12L", " as ", "(", ")", "[", "{", ",", " in ('a')", "> 5", "word", "ſ"]
)


@given(st.lists(_PIECES | _AROUND, max_size=8).map("".join))
def test_no_rule_matches_a_text_that_is_not_suspect(text: str) -> None:
    if not is_suspect(text):
        rules = (*secrets._ANNOUNCED, *secrets._SCHEMES, *secrets._ADDRESS, *secrets._text_rules())
        assert secrets._without_containers(secrets._applied(secrets.without_userinfo(text), rules)) == text


@pytest.mark.parametrize("before", ["", " ", "\t", "\n", "'", '"', "\u00a0"])
def test_a_password_after_an_option_is_found_wherever_an_argument_may_begin(before: str) -> None:
    command = f"mysql{before}-pQ9xKw7vTr" if before else "-pQ9xKw7vTr"
    assert "Q9xKw7vTr" not in redact_text(command)
    for only_ascii in (True, False):
        document = json.dumps({"command": command}, ensure_ascii=only_ascii)
        assert may_hold_secret(document)
        assert redaction.may_hold_secret(document)


def test_columns_that_are_called_keys_make_no_text_suspect() -> None:
    assert not is_suspect("Filter (isnotnull(p_partkey#11L) AND (ps_partkey#2L = p_partkey#11L))")
    assert is_suspect("option ApiKey = x")
    assert redact_text("pa\u017f\u017fword = 'Zq9xKw7vTr3m'") == "pa\u017f\u017fword = '[redacted]'"


def test_columns_that_are_called_keys_make_no_document_suspect() -> None:
    assert not may_hold_secret('{"fields":[{"name":"o_orderkey"},{"name":"l_partkey"}]}')
    assert may_hold_secret('{"fields":[{"name":"ApiKey"}]}')


@given(_DOCUMENTS, st.booleans())
def test_both_ways_to_look_for_suspect_words_find_the_same(document: Any, in_capitals: bool) -> None:
    text = json.dumps(document, ensure_ascii=False)
    text = text.upper() if in_capitals else text
    assert redaction.may_hold_secret(text) == may_hold_secret(text)
