"""Paths as Hadoop writes them, and the names of datasets that they are: different paths have different names, and each leads back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from headwater.graph.model import node_id, parse_id
from headwater.graph.records import uri_of
from headwater.graph.storage.addresses import address_of, is_remote
from headwater.paths import (
    dataset_root,
    partition_pairs,
    partition_text,
    path_of_dataset,
    path_of_pattern,
    pattern_of_path,
    places_of_pattern,
    split_path,
    split_root,
    within_dataset,
)
from headwater.spark_listener.lineage.naming import dataset_at, dataset_name

STORES = {
    "file:": ["file", ""],
    "s3a://lake": ["s3://lake", ""],
    "gs://lake": ["gs://lake", ""],
    "hdfs://name:8020": ["hdfs://name:8020", "/"],
    "abfss://box@account.dfs.core.windows.net": ["abfss://box@account.dfs.core.windows.net", "/"],
    "wasbs://box@account.blob.core.windows.net": ["wasbs://box@account.blob.core.windows.net", ""],
}
NAMES = [
    "run #1", "run #2", "50%", "50%25", "what?", "what?x=1", "a+b", "a b", "a%20b", "a&b;c", "a:b", "q'u\"o", "b\\s", "[x]", "x*", "{a,b}",
    "a,b", "ä", "a\u0308", "new\nline", "tab\t", "a%2Fb", "..x", "x..", "trail ", "trail.", "k=v", "p=__HIVE_DEFAULT_PARTITION__", "@h",
    "u:p@h", "s3:", "~", "$x`y`|^", "user:secret@", "%", "%zz", "#", "?",
]  # fmt: skip

# Texts that Hadoop's `Path.toString()` returns: no part of a path is empty, `.` or `..`.
_names = st.sampled_from(NAMES) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=12)
_parts = st.lists(_names.filter(lambda name: name not in (".", "..")), min_size=1, max_size=4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("store", STORES)
def test_the_name_of_a_dataset_holds_its_path_as_it_is(store: str, name: str) -> None:
    namespace, root = STORES[store]
    root = "/" if store == "file:" else root
    assert dataset_name(f"{store}/lake/{name}") == (namespace, f"{root}lake/{name}")


@given(st.sampled_from(sorted(STORES)), _parts, st.sampled_from(sorted(STORES)), _parts)
@example("file:", ["run #1"], "file:", ["run #2"])
@example("file:", ["a%20b"], "file:", ["a b"])
@example("s3a://lake", ["a", "b"], "s3a://lake", ["a%2Fb"])
def test_different_paths_have_different_names(store: str, one: list[str], other_store: str, other: list[str]) -> None:
    first, second = f"{store}/{'/'.join(one)}", f"{other_store}/{'/'.join(other)}"
    assume(first != second)
    assert dataset_name(first) != dataset_name(second)
    assert node_id("dataset", *dataset_name(first)) != node_id("dataset", *dataset_name(second))
    assert uri_of(first) != uri_of(second)


@given(st.sampled_from(sorted(STORES)), _parts)
def test_a_name_leads_back_to_its_path(store: str, parts: list[str]) -> None:
    path = f"{store}/{'/'.join(parts)}"
    named = dataset_name(path)
    assert dataset_name(path_of_dataset(*named)) == named
    assert uri_of(path_of_dataset(*named)) == uri_of(path)
    assert parse_id(node_id("dataset", *named)) == ("dataset", named)
    if is_remote(path) and path.isprintable():
        assert address_of(uri_of(path)).path == "/".join(parts)


@given(_parts)
def test_a_path_without_a_scheme_is_the_local_one(parts: list[str]) -> None:
    path = f"/{'/'.join(parts)}"
    assert dataset_name(path) == dataset_name(f"file:{path}") == dataset_name(f"file://{path}") == ("file", path)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("s3a://lake/a?b#c", ("s3a", "lake", "/a?b#c")),
        ("file:/a b", ("file", "", "/a b")),
        ("file:///a", ("file", "", "/a")),
        ("/a:/b", ("", "", "/a:/b")),
        ("run:1.csv", ("", "", "run:1.csv")),
        ("c:/x", ("", "", "c:/x")),
        ("hdfs://name:8020", ("hdfs", "name:8020", "")),
    ],
)
def test_the_parts_of_a_path_are_those_that_hadoop_sees(text: str, parts: tuple[str, str, str]) -> None:
    assert split_path(text) == parts


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/a/run\\[1\\]", "/a/run[1]"),
        ("/a/b\\\\s", "/a/b\\s"),
        ("/a/*.csv", "/a/*.csv"),
        ("/a/\\[1\\]/[ab]", "/a/\\[1\\]/[ab]"),
        ("/a/\\{x\\}\n", "/a/{x}\n"),
    ],
)
def test_a_pattern_that_stands_for_one_path_is_that_path(pattern: str, path: str) -> None:
    assert path_of_pattern(pattern) == path


@given(_parts)
def test_a_path_as_a_pattern_stands_for_itself(parts: list[str]) -> None:
    path = "/".join(parts)
    assert path_of_pattern(pattern_of_path(path)) == path


def test_a_partition_folder_escapes_single_characters() -> None:
    assert partition_text("a%3Ab%25") == "a:b%"
    assert partition_text("%zz %4 %2") == "%zz %4 %2"
    assert partition_text("%C3%A4 ä") == "Ã¤ ä"  # as Spark reads it


@pytest.mark.parametrize(
    ("name", "root", "within"),
    [
        ("/lake/sales", "/lake/sales", ""),
        ("/lake/sales/year=2026", "/lake/sales", "year=2026"),
        ("/lake/sales/year=2026/month=5", "/lake/sales", "year=2026/month=5"),
        ("/lake/sales/year=2026/part-00000-7c3e.c000.snappy.parquet", "/lake/sales", "year=2026/part-00000-7c3e.c000.snappy.parquet"),
        ("/lake/events/dt=2026-05-14/clicks.json.gz", "/lake/events", "dt=2026-05-14/clicks.json.gz"),
        ("/lake/t/p=__HIVE_DEFAULT_PARTITION__", "/lake/t", "p=__HIVE_DEFAULT_PARTITION__"),
        ("/lake/t/p=a%2Fb c", "/lake/t", "p=a%2Fb c"),
        ("/lake/copy/part-00000", "/lake/copy", "part-00000"),
        ("/lake/copy/part-0.parquet", "/lake/copy", "part-0.parquet"),
        ("/lake/copy/000000_0", "/lake/copy", "000000_0"),
        ("/lake/copy/part.0.parquet", "/lake/copy", "part.0.parquet"),
        ("/lake/copy/part-81fc4980-a6af-41c8-9937-9939408a734b-0-1", "/lake/copy", "part-81fc4980-a6af-41c8-9937-9939408a734b-0-1"),
        ("/lake/copy/*.parquet", "/lake/copy", "*.parquet"),
        ("/lake/sales/year=*/month={4,5}/*", "/lake/sales", "year=*/month={4,5}/*"),
        ("/data/env=prod/orders", "/data/env=prod/orders", ""),
        ("/data/env=prod/orders/day=1", "/data/env=prod/orders", "day=1"),
        ("/lake/large.csv", "/lake/large.csv", ""),
        ("/lake/part-1", "/lake/part-1", ""),
        ("/data/part-2023.csv", "/data/part-2023.csv", ""),
        ("/data/part-1.csv", "/data/part-1.csv", ""),
        ("/data/part-2023", "/data/part-2023", ""),
        ("/erp/part-10045.csv", "/erp/part-10045.csv", ""),
        ("/erp/part-10045-bolt.csv", "/erp/part-10045-bolt.csv", ""),
        ("/erp/202301_1", "/erp/202301_1", ""),
        *(
            (f"/lake/copy/{file}", "/lake/copy", file)
            for file in (
                "part-00000-6f1c1a52-4d0e-4f6f-9c53-3a8f4a7f0001-c000.snappy.parquet",
                "part-10045-6f1c1a52-4d0e-4f6f-9c53-3a8f4a7f0001_00003.c000.csv",
                "part-100045-6f1c1a52-4d0e-4f6f-9c53-3a8f4a7f0001.c000.txt.gz",
                "part-00000-tid-5821-6f1c1a52-4d0e-4f6f-9c53-3a8f4a7f0001-1-1-c000.json",
                "part-00001.csv",
                "part-10045.c000.csv",
                "part-10045.gz",
                "part-r-00000",
                "part-m-00003.avro",
                "part-r-00000-6f1c1a52-4d0e-4f6f-9c53-3a8f4a7f0001.gz.parquet",
            )
        ),
        ("/lake/what?x=1", "/lake/what?x=1", ""),
        ("/lake/aGVsbG8=", "/lake/aGVsbG8=", ""),
        ("/day=1", "/", "day=1"),
        ("day=1/hour=2", "/", "day=1/hour=2"),
        ("sales/day=1", "sales", "day=1"),
    ],
)
def test_a_partition_lies_in_the_folder_above_its_keys(name: str, root: str, within: str) -> None:
    assert split_root(name) == (root, within)
    assert partition_pairs("year=2026/p=a%2Fb") == {"year": "2026", "p": "a/b"}


@given(st.sampled_from(sorted(STORES)), _parts)
def test_the_dataset_of_a_dataset_is_itself(store: str, parts: list[str]) -> None:
    named = dataset_name(f"{store}/{'/'.join(parts)}")
    root = dataset_root(*named)
    assert dataset_root(*root) == root
    within = within_dataset(path_of_dataset(*named), *root)
    assert (root == named) is (within == "")
    assert not within or path_of_dataset(*named).endswith(f"/{within}")


@given(st.sampled_from(sorted(STORES)), _names.filter(lambda name: name not in (".", "..") and not split_root(f"/a/{name}").within))
def test_an_odd_name_is_a_dataset_and_its_partitions_are_in_it(store: str, name: str) -> None:
    whole = dataset_name(f"{store}/lake/{name}")
    assert dataset_root(*whole) == whole
    for part in ("year=2026", "year=2026/month=5", "year=2026/part-00000.parquet", "part-00000", "*.csv"):
        assert dataset_at(f"{store}/lake/{name}/{part}") == whole


def test_metadata_go_before_what_a_name_looks_like() -> None:
    place = ("s3://lake", "data/env=prod")
    assert dataset_root(*place) == ("s3://lake", "data")
    assert dataset_root(*place, formats=["delta"]) == place
    assert dataset_root(*place, formats=["parquet"], tables=["shop.orders"]) == place
    assert dataset_root(*place, tables=["spark_catalog.shop.data"]) == ("s3://lake", "data")
    assert dataset_root("postgres://db:5432", "shop.public.a=b") == ("postgres://db:5432", "shop.public.a=b")
    assert dataset_root("kafka://broker:9092", "topic/a=b") == ("kafka://broker:9092", "topic/a=b")


@pytest.mark.parametrize(
    ("pattern", "places"),
    [
        ("/in/raw/*.csv", ["/in/raw"]),
        ("/in/raw/*", ["/in/raw"]),
        ("/in/raw/part-*", ["/in/raw"]),
        ("/in/{a,b}/part-*", ["/in/a", "/in/b"]),
        ("/in/day*", ["/in/day*"]),
        ("/in/sales/year=[0-9]*/month=?", ["/in/sales"]),
        (r"/in/run\[1\]", ["/in/run[1]"]),
        (r"/in/\{a,b\}/*.csv", ["/in/{a,b}"]),
    ],
)
def test_files_of_a_pattern_are_parts_of_their_folders(pattern: str, places: list[str]) -> None:
    assert places_of_pattern(pattern) == places


def test_a_relative_path_names_what_is_in_the_working_folder_of_the_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        for path in ("out", "out/a:b", "file:out"):
            assert dataset_at(path) == ("file", str(tmp_path / name / path.removeprefix("file:")))
