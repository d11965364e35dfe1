"""Addresses of tables and topics: only a plain form is taken, and a root covers what is its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.errors import ConfigurationError, UnsupportedError
from headwater.graph.storage import Remote, read_roots
from headwater.graph.storage.key_places import keyed_address, parts_of

ID = "A" * 22


@pytest.mark.parametrize(
    ("uri", "parts"),
    [
        ("postgres://db:5432/shop.public.orders", ["shop", "public", "orders"]),
        ("postgres://db:5432/shop.public.%22a.b%22", ["shop", "public", "a.b"]),
        ('postgres://db:5432/shop.public."a ""q"""', ["shop", "public", 'a "q"']),
        ("postgres://[::1]:5432/shop.public.a;DROP%20TABLE%20b", ["shop", "public", "a;DROP TABLE b"]),
        ("postgres://db:5432/shop", ["shop"]),
        (f"kafka://broker:9092/orders.eu/{ID}/12", ["orders.eu", ID, "12"]),
        ("kafka://broker:9092/orders", ["orders"]),
        ("kafka://broker:9092", []),
    ],
)
def test_parts_of_an_address(uri: str, parts: list[str]) -> None:
    assert parts_of(keyed_address(uri)) == parts


@pytest.mark.parametrize(
    "uri",
    [
        "postgres://user:secret@db:5432/shop.public.t",
        "postgres://db/shop.public.t",
        "postgres://db:5432/shop.public",
        "postgres://db:5432/a.b.c.d",
        "postgres://db:5432/shop.public.t%00",
        "postgres://db:5432/shop.public.t%0a",
        "postgres://db:5432/shop.public.%ff",
        "postgres://db:5432/",
        'postgres://db:5432/shop.public."t',
        'postgres://db:5432/shop.public."t"x',
        "postgres://db:5432/shop..t",
        "postgres://db:5432/shop.public.",
        "postgres://db:5432?host=evil/shop.public.t",
        "postgres://db:5432,evil:1/shop.public.t",
        "postgres://db:5432/" + "a" * 5000,
        "kafka://b:9092,evil:1/t",
        "kafka://b:9092/..",
        f"kafka://b:9092/t/{ID}/01",
        f"kafka://b:9092/t/{ID}/-1",
        f"kafka://b:9092/t/x/{ID}/1",
        "kafka://b:9092/t u",
        f"kafka://b:9092/t/{ID}/1/2",
        "kafka://b:9092/t%0a",
        "mysql://db:3306/a.b.c",
    ],
)
def test_what_is_not_plain_is_refused(uri: str) -> None:
    with pytest.raises(UnsupportedError):
        keyed_address(uri)


def test_a_root_covers_its_own_database_alone(tmp_path: Path) -> None:
    path = tmp_path / "storage.toml"
    path.write_text('[[root]]\nurl = "postgres://db:5432/shop"\nuser = "r"\n[[root]]\nurl = "kafka://b:9092"\n')
    remote = Remote(read_roots(path))
    assert remote.table("postgres://db:5432/shop.public.t").parts == ["shop", "public", "t"]
    assert remote.table(f"kafka://b:9092/t/{ID}/0").parts == ["t", ID, "0"]
    assert remote.tables("postgres://db:5432/shop.public.t") == ["postgres://db:5432/shop.public.t"]
    for uri in (
        "postgres://db:5432/shopping.public.t",
        "postgres://db:5432/other.public.t",
        "postgres://db:5433/shop.public.t",
        "postgres://db2:5432/shop.public.t",
        'postgres://db:5432/"shop.public".t.u',
        f"kafka://b:9093/t/{ID}/0",
        "kafka://b:9092/t",
        "postgres://db:5432/shop",
    ):
        with pytest.raises(UnsupportedError):
            remote.table(uri)


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ('url = "postgres://db:5432/shop.public.t"', "no database"),
        ('url = "postgres://db:5432"', "cannot be used"),
        ('url = "kafka://b:9092/t"', "no broker"),
        ('url = "postgres://db:5432/shop"\nendpoint = "db"', "no host and port"),
        ('url = "postgres://db:5432/shop"\nsslmode = "x"', "has not"),
        ('url = "kafka://b:9092"\nendpoint = "a:1,b:2"', "no host and port"),
    ],
)
def test_a_root_that_is_no_service_is_refused(tmp_path: Path, stated: str, reason: str) -> None:
    (tmp_path / "storage.toml").write_text(f"[[root]]\n{stated}\n")
    with pytest.raises(ConfigurationError, match=reason):
        read_roots(tmp_path / "storage.toml")
