"""The text of a program is sent without its secrets, and only if the user asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.spark_listener.lineage.source_text import source_code, without_secrets

LEAKS = [
    'password = "hunter2"', 'password: str = "hunter2"', 'secret = (\n    "hunter2"\n)\n', 'spark.conf.set("fs.s3a.secret.key", "hunter2")',
    'frame.option("user", "app").option("password", "hunter2")', 'f(token="hunter2")', 'pwd = b"hunter2"', 'password = "hun" "hunter2"',
    'PASSWORD = """hunter2\nhunter2"""', 'api_key = f"{x}hunter2{y}"', 'api_key = r"hunter2"', '{"password": "hunter2"}',
    'url = "postgresql://app:hunter2@db/shop"', 'url = "jdbc:mysql://db/shop?password=hunter2"', "# the password is hunter2",
    'x = "AKIAABCDEFGHIJKLMNOP"',
    'login(\n  "app",  # password:\n  "hunter2",\n)', 'password = "password_hunter2"', "pin = password = 7712",
    'credentials = ["hunter2", ["hunter2", 7712]]', 'os.environ["AWS_SECRET_ACCESS_KEY"] = "hunter2"',
]  # fmt: skip


@pytest.mark.parametrize("text", LEAKS)
def test_no_secret_that_shows_is_told(text: str) -> None:
    told = without_secrets(f"import os\n{text}\npass\nafter = 1\n")
    assert not {"hunter2", "7712", "AKIAABCDEFGHIJKLMNOP"} & {word for word in ("hunter2", "7712", "AKIAABCDEFGHIJKLMNOP") if word in told}
    assert told.startswith("import os\n")
    assert told.endswith("after = 1\n")


def test_the_rest_of_a_program_stays_as_it_is(tmp_path: Path) -> None:
    text = 'spark.read.csv("weather.csv", header=True)  # hourly\nlimit = 7\nprint(f"{limit} rows")\n'
    script = tmp_path / "job.py"
    script.write_text(text)
    facet = source_code(str(script))
    assert facet is not None
    assert (facet["language"], facet["sourceCode"]) == ("PYTHON", text)


@pytest.mark.parametrize("content", [b"def (", b"\xff\xfe", b"x = 1\n" * 100_000, b'"""', b"\0"])
def test_what_is_no_python_or_too_long_is_not_told(content: bytes, tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_bytes(content)
    assert source_code(str(script)) is None
    assert source_code(None) is None
    assert source_code(str(tmp_path)) is None
