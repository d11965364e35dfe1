"""Secrets go, names stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.backend.ingest.intake.redaction import MARK, redact, redact_text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("jdbc:postgresql://app:hunter2@db:5432/x", "hunter2"),
        ("s3a://AKIAABCDEFGHIJKLMNOP:s3cr3t@bucket/a", "s3cr3t"),
        ("https://x.blob.core.windows.net/a?sv=1&sig=aGVsbG8%3D", "aGVsbG8"),
        ("jdbc:sqlserver://h;user=sa;password=Pa55;encrypt=true", "Pa55"),
        ("Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"),
        ("key AKIAABCDEFGHIJKLMNOP here", "AKIAABCDEFGHIJKLMNOP"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdef"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "eyJzdWIi"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
    ],
)
def test_secrets_are_known_by_their_shape(text: str, secret: str) -> None:
    redacted = redact_text(text)
    assert secret not in redacted
    assert MARK in redacted
    assert redact_text(redacted) == redacted


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "spark.hadoop.fs.s3a.secret.key",
        "fs.azure.account.key.x",
        "api_key",
        "AWS_ACCESS_KEY_ID",
        "client_secret",
        "auth.token",
        "token",
    ],
)
def test_secrets_are_known_by_their_name(name: str) -> None:
    assert redact({"facets": {"properties": {name: "value"}}}) == {"facets": {"properties": {name: MARK}}}


@pytest.mark.parametrize(
    "value",
    [
        {"name": "/data/token=7/part", "namespace": "file"},
        {"schema": {"fields": [{"name": "password", "type": "string"}]}},
        {"columnLineage": {"fields": {"token": {"inputFields": [{"namespace": "file", "name": "/a", "field": "secret"}]}}}},
        {"keys": ["a"], "key": "b", "partition_key": "c", "tokens": 7},
        {"path": "s3://bucket/a=1/b=2"},
        {"password": None, "secret": ""},
    ],
)
def test_names_stay(value: object) -> None:
    assert redact(value) is value


def test_the_address_of_a_dataset_still_names_it() -> None:
    redacted = redact({"namespace": "postgres://app:hunter2@db:5432", "name": "public.flights"})
    assert redacted == {"namespace": f"postgres://app:{MARK}@db:5432", "name": "public.flights"}


@given(
    st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
)
def test_doing_it_twice_changes_nothing_more(value: object) -> None:
    once = redact(value)
    assert redact(once) is once
