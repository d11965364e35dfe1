"""The grants of `people.toml`, and the refusal of invalid ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.backend.access.people.grants import is_trusted_address, name_of, read_rules
from headwater.errors import ConfigurationError
from headwater.graph.access.scopes import ROLES

RULES = """
issuer = "https://login.example.com"
client = "headwater"
[[grant]]
claim = "groups"
value = "data"
roles = ["viewer", "operator"]
[[grant]]
claim = "email"
value = "ann@example.com"
roles = ["investigator"]
[[grant]]
claim = "sub"
value = "7"
roles = ["analyst"]
tenant = "sales"
[[grant]]
claim = ["realm_access", "roles"]
value = "steward"
roles = ["steward"]
[[grant]]
claim = ["resource.access", "headwater", "level"]
value = "auditor"
roles = ["auditor"]
"""


def _rules(folder: Path, text: str = RULES) -> Any:
    path = folder / "people.toml"
    path.write_text(text)
    return read_rules(path)


@pytest.mark.parametrize(
    ("claims", "roles"),
    [
        ({"groups": ["data", "other"]}, {"viewer", "operator"}),
        ({"groups": "data"}, {"viewer", "operator"}),
        ({"groups": "database"}, set()),
        ({"groups": {"data": 1}}, set()),
        ({"email": "ann@example.com", "email_verified": True}, {"investigator"}),
        ({"realm_access": {"roles": ["steward", "other"]}}, {"steward"}),
        ({"realm_access": {"roles": "steward"}}, {"steward"}),
        ({"realm_access.roles": ["steward"]}, set()),
        ({"realm_access": ["roles", "steward"]}, set()),
        ({"realm_access": {"roles": {"steward": True}}}, set()),
        ({"realm_access": {"groups": ["steward"]}, "roles": ["steward"]}, set()),
        ({"realm_access": None}, set()),
        ({"resource.access": {"headwater": {"level": "auditor"}}}, {"auditor"}),
        ({"resource": {"access": {"headwater": {"level": "auditor"}}}}, set()),
        ({"email": "ann@example.com", "email_verified": "true"}, set()),
        ({"email": "ann@example.com"}, set()),
        ({"groups": ["data"], "email": "ann@example.com", "email_verified": True}, {"viewer", "operator", "investigator"}),
    ],
)
def test_what_the_issuer_says_is_what_counts(tmp_path: Path, claims: dict[str, Any], roles: set[str]) -> None:
    person = _rules(tmp_path).person({"sub": "1", **claims})
    expected = frozenset().union(*(ROLES[role] for role in roles))
    assert (person.scopes if person else frozenset()) == expected
    assert person is None or person.tenant == "default"


def test_grants_of_two_tenants_are_refused(tmp_path: Path) -> None:
    rules = _rules(tmp_path)
    assert rules.person({"sub": "7"}).tenant == "sales"
    with pytest.raises(ConfigurationError, match="several tenants: default, sales"):
        rules.person({"sub": "7", "groups": ["data"]})


def test_a_name_is_one_word_and_stands_for_one_subject() -> None:
    first, second = name_of({"sub": "1", "name": "a:b\n\x1b[31m c"}), name_of({"sub": "2", "name": "a:b\n\x1b[31m c"})
    assert first.startswith("person:a_b__[31m_c:")
    assert first != second
    assert len(name_of({"sub": "1", "email": "x" * 500})) < 90


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("issuer =", "no TOML"),
        ('issuer = "http://login.example.com"\nclient = "c"', "issuer of"),
        ('issuer = "https://i"\nclient = ""', "client of"),
        ('issuer = "https://i"\nclient = "c"\nsecret = "s"', "states secret"),
        ('issuer = "https://i"\nclient = "c"\nsecret_file = "missing"', "cannot be read"),
        ('issuer = "https://i"\nclient = "c"\n[[grant]]\nclaim = "sub"\nvalue = "1"\nroles = ["king"]', "role king"),
        ('issuer = "https://i"\nclient = "c"\n[[grant]]\nclaim = "sub"\nvalue = "1"\nroles = []', "roles of"),
        ('issuer = "https://i"\nclient = "c"\n[[grant]]\nclaim = []\nvalue = "1"\nroles = ["viewer"]', "claim of"),
        ('issuer = "https://i"\nclient = "c"\n[[grant]]\nclaim = ["a", 1]\nvalue = "1"\nroles = ["viewer"]', "claim of"),
        ('issuer = "https://i"\nclient = "c"\nsigned_out = "javascript:alert(1)"', "signed_out of"),
        ('issuer = "https://i"\nclient = "c"\n[[grant]]\nclaim = "sub"\nvalue = "1"\nroles = ["viewer"]\ntenant = "../x"', "tenant of"),
        ('issuer = "https://i"\nclient = "c"\n[[grant]]\nclaim = "sub"\nvalue = "1"\nroles = ["operator"]\ntenant = "x"', "whole service"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        _rules(tmp_path, text)


def test_there_may_be_no_rules(tmp_path: Path) -> None:
    assert read_rules(tmp_path / "people.toml") is None


@pytest.mark.parametrize(
    ("url", "trusted"),
    [
        ("https://a.example", True), ("http://localhost:9/", True), ("http://127.0.0.1", True), ("http://a.example", False),
        ("file:///etc/passwd", False), ("https://", False), ("http://localhost.example.com", False), ("http://[::1", False),
    ],
)  # fmt: skip
def test_answers_are_believed_by_tls_or_from_this_machine(url: str, trusted: bool) -> None:
    assert is_trusted_address(url) is trusted
