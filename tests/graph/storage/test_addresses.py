"""The names that a URI may have: a plain place on a known store, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import UnsupportedError
from headwater.graph.storage import Remote
from headwater.graph.storage.addresses import Address, address_of, is_remote, one_spelling, other_spellings
from headwater.graph.storage.settings import RootSettings


def test_the_schemes_of_hadoop_name_one_store() -> None:
    assert {address_of(f"{scheme}://lake/a/b.parquet") for scheme in ("s3", "s3a", "s3n")} == {Address("s3", "lake", "a/b.parquet")}
    assert address_of("hdfs://Name.Node:8020/data/") == Address("hdfs", "name.node:8020", "data")
    assert address_of("webhdfs://Name.Node:9870/data/") == Address("webhdfs", "name.node:9870", "data")
    assert address_of("swebhdfs://name/data") == Address("swebhdfs", "name", "data")
    assert address_of("abfss://box@acc.dfs.core.windows.net/x").authority == "box@acc.dfs.core.windows.net"
    assert address_of("gs://bucket") == Address("gs", "bucket", "")


@pytest.mark.parametrize(
    "uri",
    [
        "s3://user:pass@lake/a",
        "s3://key@lake/a",
        "s3://lake:9000/a",
        "s3://169.254.169.254:80/latest",
        "s3://lake/../other/a",
        "s3://lake/a/../../b",
        "s3://lake/./a",
        "s3://lake//a",
        "s3://lake/a//b",
        "s3:///a",
        "s3:/lake/a",
        "s3a:lake/a",
        "s3://la ke/a",
        "s3://lake\n/a",
        "s3://lake/a\0b",
        "s3://lake/a\nb",
        "s3://lake/\ud800",
        "s3://..",
        "s3://l..k/a",
        "s3://LAKE/a",
        "s3://lake%2f..%2fother/a",
        "s3://lake?endpoint_override=evil/a",
        "hdfs://user@name:8020/a",
        "hdfs://name:99999999/a",
        "http://169.254.169.254/latest",
        "https://lake/a",
        "ftp://lake/a",
        "file:/etc/passwd",
        "/etc/passwd",
        "",
        "s3://lake/" + "a" * 5000,
    ],
)  # fmt: skip
def test_what_is_not_plain_is_refused(uri: str) -> None:
    with pytest.raises(UnsupportedError):
        address_of(uri)
    assert not Remote([RootSettings(Address("s3", "lake", ""))]).covers(uri)


def test_a_place_has_other_spellings_where_hadoop_has_several_schemes() -> None:
    assert set(other_spellings("s3://lake/a")) == {"s3a://lake/a", "s3n://lake/a"}
    assert other_spellings("hdfs://name/a") == other_spellings("/data/a") == other_spellings("data/a") == []


def test_a_uri_has_one_spelling_whatever_hadoop_calls_its_store() -> None:
    assert {one_spelling(f"{scheme}://lake/a/%2Fb c") for scheme in ("s3", "s3a", "s3n")} == {"s3://lake/a/%2Fb c"}
    assert one_spelling("abfs://c@a.dfs.core.windows.net/x") == "abfss://c@a.dfs.core.windows.net/x"
    for other in ("hdfs://name/a", "gs://b/a", "/data/a", "file:/data/s3a://b/a", "s3a:/b/a", "s3ab://b/a", "postgres://h:1/d.s.t"):
        assert one_spelling(other) == other


def test_a_refusal_shows_no_secret() -> None:
    with pytest.raises(UnsupportedError) as refused:
        address_of("s3a://AKIAKEY:topsecret@lake/a")
    assert "topsecret" not in str(refused.value)


@pytest.mark.parametrize("path", ["a%20b/c%2520d", "a%2F..%2Fb", "%ff", "a?b=c#d", "a;b&c+d", " a / b. "])
def test_nothing_in_a_path_is_escaped(path: str) -> None:
    assert address_of(f"s3://lake/{path}").path == path


ROOT = RootSettings(Address("s3", "lake", "data"))


@pytest.mark.parametrize("uri", ["s3://lake/data", "s3a://lake/data/x", "s3n://lake/data/x/y"])
def test_below_a_root_is_covered(uri: str) -> None:
    assert Remote([ROOT]).covers(uri)


@pytest.mark.parametrize(
    "uri", ["s3://lake/data2/x", "s3://lake/dat", "s3://lake/", "s3://other/data/x", "gs://lake/data/x", "s3://lake/Data"]
)
def test_beside_a_root_is_not(uri: str) -> None:
    remote = Remote([ROOT])
    assert not remote.covers(uri)
    with pytest.raises(UnsupportedError, match=r"not on a local file system.*storage\.toml"):
        remote.file(uri)


@given(st.text(max_size=40))
def test_no_text_names_a_place_above_its_root(text: str) -> None:
    remote = Remote([ROOT])
    for uri in (f"s3://lake/{text}", f"s3://lake/data{text}", f"s3://{text}/data", text):
        if is_remote(uri) and remote.covers(uri):
            assert not {"", ".", ".."} & set(address_of(uri).path.split("/"))
