"""The file that names the roots of remote storage."""

from pathlib import Path

import pytest

from headwater.errors import ConfigurationError
from headwater.graph.storage import read_roots
from headwater.graph.storage.addresses import address_of

WHOLE = """
[[root]]
url = "s3a://lake/data/"
endpoint = "http://127.0.0.1:9000"
access_key_id = "AKIAKEY"
secret_access_key = "topsecret"
seconds = 3

[[root]]
url = "hdfs://name:8020/warehouse"
"""


def test_a_file_names_roots_and_how_each_is_reached(tmp_path: Path) -> None:
    (tmp_path / "storage.toml").write_text(WHOLE)
    lake, warehouse = read_roots(tmp_path / "storage.toml")
    assert (lake.url, lake.seconds, lake.options["endpoint"]) == ("s3://lake/data", 3.0, "http://127.0.0.1:9000")
    assert warehouse.covers(address_of("hdfs://name:8020/warehouse/t/part-0.parquet"))
    assert "topsecret" not in f"{lake!r} {lake}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("root = 1", "tables"),
        ("[[root]]\nendpoint = 'x'", "root 1 has no url"),
        ("[[root]]\nurl = 's3://user:topsecret@lake/a'", "url of .*root 1 cannot be used"),
        ("[[root]]\nurl = 's3://lake'\nsecret = 'topsecret'", "states secret, which s3 has not"),
        ("[[root]]\nurl = 's3://lake'\nregion = 7", "region of"),
        ("[[root]]\nurl = 's3://lake'\nseconds = 0", "seconds of"),
        ("[[root]]\nurl = 's3://lake'\nsecret_access_key = 'topsecret", "no TOML"),
        ("[[roots]]\nurl = 's3://lake'", "states roots"),
        ("[[root]]\nurl = 'webhdfs://n:9870/a'\ndatanodes = 'dn1'", "no host and port"),
        ("[[root]]\nurl = 'webhdfs://n:9870/a'\ndatanodes = 'dn1:9864, http://dn2:9864/'", "no host and port"),
        ("[[root]]\nurl = 'webhdfs://n:9870/a'\nendpoint = '*:9870'", "no one host"),
        ("[[root]]\nurl = 'webhdfs://n:9870/a'\nca = 'topsecret'", "states ca"),
    ],
)
def test_what_is_not_understood_is_said_without_what_it_states(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "storage.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=says) as refused:
        read_roots(tmp_path / "storage.toml")
    assert "topsecret" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_file_that_is_set_and_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"HEADWATER_STORAGE"):
        read_roots(tmp_path / "storage.toml")
