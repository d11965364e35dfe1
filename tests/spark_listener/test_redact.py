"""Secrets do not leave the process; everything else does."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from headwater.spark_listener.invocation import take_invocation
from headwater.spark_listener.redact import redact, redact_arguments, redact_deep, redact_mapping

SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"jdbc:postgresql://db/x?user=me&password={SECRET}&ssl=true",
        f"postgresql://me:{SECRET}@db:5432/x",
        f"Authorization: Bearer {SECRET}",
        f'{{"api_key": "{SECRET}"}}',
        f"fs.s3a.secret.key={SECRET}",
        f"--token={SECRET}",
        f"AccountKey={SECRET}; EndpointSuffix=core",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----",
        f"sv=2020&sas={SECRET}",
    ],
)
def test_a_secret_in_a_text_goes(text: str) -> None:
    assert SECRET not in redact(text)
    assert "[redacted]" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "password IN ('a', 'hunter2hunter2')", "t.api_key NOT IN (7310000001, 7310000002)", "password LIKE 'hunter2hunter2%'",
        "password <> 'hunter2hunter2'", "password == 'hunter2hunter2'", "password <=> 7310000001", "'hunter2hunter2' = u.password",
        "upper(password) = 'hunter2hunter2'", "cast(password as string) = 'hunter2hunter2'", "(password#12 = hunter2hunter2)",
        "password#12L IN (hunter2hunter2,x)", "`password` BETWEEN 'hunter2hunter2' AND 'x'", "password IS DISTINCT FROM 'hunter2hunter2'",
        "INSERT INTO users (name, password) VALUES ('ann', 'hunter2hunter2')",
        "WHEN NOT MATCHED THEN INSERT (a, password) VALUES (1, 7310000001)",
        "SELECT * FROM VALUES ('ann', 'hunter2hunter2') AS users(name, password)", "SELECT 'hunter2hunter2' AS password",
        "map('password', 'hunter2hunter2')", "named_struct('x', 1, 'password', 7310000001)", 'read.option("password", "hunter2hunter2")',
        "OPTIONS (url 'u', password 7310000001)",
        "Project [hunter2hunter2 AS password#66]", "map(keys: [password], values: [hunter2hunter2]) AS m#67",
    ],
)  # fmt: skip
def test_a_literal_beside_a_secret_name_goes(text: str) -> None:
    clean = redact(text)
    assert "[redacted]" in clean
    assert SECRET not in clean
    assert "73100" not in clean


@pytest.mark.parametrize(
    "text",
    [
        "SELECT token, x FROM t WHERE x IN ('a') AND y = 'b'", "password IN (SELECT p FROM q WHERE r = 'keep')", "tokens > 5",
        "[a#1 AS password#2]", "select('token', 'x')", "a.key = b.token AND b.name = 'x'", "max(password) AS m, 'keep' AS b",
        "INSERT INTO t (id, v) VALUES (1, 'keep'); SELECT password FROM u",
    ],
)  # fmt: skip
def test_literals_elsewhere_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("part", ["password(", "values (", "'", '"\\', "password in ('", "'a' as password", "insert (password) values "])
def test_a_text_of_any_shape_is_searched_in_little_time(part: str) -> None:
    began = time.process_time()
    redact(part * (20_000 // len(part)) + "password")
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "text", ["report.py --month 2", "/data/passengers/2013", "author=me", "s3a://bucket/keys/a.parquet", "SELECT max(wind) FROM weather"]
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_the_rest_of_an_address_stays() -> None:
    assert redact("jdbc:x://db/x?user=me&password=abc&ssl=true").endswith("&ssl=true")
    assert redact("s3a://k:v@bucket/a") == "s3a://[redacted]@bucket/a"


def test_arguments_in_two_words_go_too() -> None:
    assert redact_arguments(["job.py", "--db-password", SECRET, "--month", "2", "--api-key=x1y2z3"]) == [
        "job.py", "--db-password", "[redacted]", "--month", "2", "--api-key=[redacted]",
    ]  # fmt: skip


def test_values_under_secret_names_go() -> None:
    assert redact_mapping({"AWS_SECRET_ACCESS_KEY": "x", "TZ": "UTC"}) == {"AWS_SECRET_ACCESS_KEY": "[redacted]", "TZ": "UTC"}
    assert redact_deep({"a": [{"password": "x", "n": 1}]}) == {"a": [{"password": "[redacted]", "n": 1}]}


def test_an_invocation_records_allowed_variables_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {"TZ": "UTC", "MY_TOKEN": SECRET, "PLAIN": "no", "CHOSEN": f"https://u:{SECRET}@h/x", "PYTHONPATH": "/p"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", f"-Duser.timezone=UTC -Djavax.net.ssl.trustStorePassword={SECRET}")
    file = tmp_path / "job.py"
    file.write_text("pass\n")
    script = str(file)
    taken = take_invocation(script=script, argv=[script, "--password", SECRET], extra_variables=("CHOSEN", "MY_TOKEN"))
    assert SECRET not in repr(taken)
    assert taken.environment["TZ"] == "UTC"
    assert taken.environment["SPARK_SUBMIT_OPTS"] == "-Duser.timezone=UTC -Djavax.net.ssl.trustStorePassword=[redacted]"
    assert taken.environment["CHOSEN"] == "https://[redacted]@h/x"
    assert "PLAIN" not in taken.environment
    assert "MY_TOKEN" not in taken.environment
    assert taken.script == script
    assert taken.script_sha256 is not None


def test_rules_for_texts_with_secrets_are_compiled_when_one_comes():
    """Compiling them takes longer than the rest of a small program's start in Python."""
    compiled = (
        "from headwater.spark_listener import redact, secrets;"
        "redact.redact_mapping({'spark.app.name': 'report', 'spark.master': 'local[2]'});"
        "redact.redact_deep({'sql': 'SELECT * FROM t WHERE wind > 5', 'url': 'file:/data/raw?a=b&c=d;e'});"
        "print(secrets._text_rules.cache_info().currsize, redact.redact(\"password = 'x'\"), secrets._text_rules.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", compiled], check=True, capture_output=True, text=True)
    assert done.stdout == "0 password = '[redacted]' 1\n"


@pytest.mark.parametrize(
    ("text", "secret", "rest"),
    [
        ("SELECT aes_encrypt(concat(a, 'x, y'), 'k3yk3yk3yk3yk3y1', 'GCM') FROM t", "k3yk3yk3yk3yk3y1", "concat(a, 'x, y')"),
        (
            "Project [aes_encrypt(cast(name#1 as binary), k3yk3yk3yk3yk3y1, GCM, DEFAULT, , ) AS x#2]",
            "k3yk3yk3yk3yk3y1",
            "cast(name#1 as binary)",
        ),
        ("staticinvoke(class ExpressionImplUtils, BinaryType, aesEncrypt, name#1, k3yk3yk3yk3yk3y1)", "k3yk3yk3yk3yk3y1", "name#1"),
        ("try_aes_decrypt(unhex(c), unhex('6b3379'))", "6b3379", "unhex(c)"),
        ('F.aes_decrypt(df.name, F.lit("k3yk3yk3yk3yk3y1"))', "k3yk3yk3yk3yk3y1", "df.name"),
        ("hmac_sha256('k3y', data)", "k3y", "data"),
        ("mysql -uroot -phunter2 shop", "hunter2", "shop"),
        ("mysql -p'hun ter2' shop", "hun ter2", "shop"),
        ("-pcanary-4711", "canary-4711", "-p"),
        ("jwt=a.b.c", "a.b.c", "jwt="),
        ("eyJhbGciOiJkaXIi.eyJlbmMiOiJBMTI4.c2VjcmV0.dGFn.bW9yZQ", "c2VjcmV0", ""),
        ("https://storage.googleapis.com/b/o?X-Goog-Signature=5ec1e7&x=1", "5ec1e7", "x=1"),
    ],
)
def test_keys_of_functions_and_passwords_of_commands_are_taken_out(text: str, secret: str, rest: str) -> None:
    for clean in (redact(text), redact_deep({"query": text})["query"], redact_deep([text])[0]):
        assert secret not in clean
        assert rest in clean


@pytest.mark.parametrize(
    "text",
    ["tool -path x", "-p8080", "cp -pr a b", "java -profile=dev", "aes_encrypt(name#1, key#2, GCM)", "encrypted rows, all (of a, b)"],
)
def test_what_only_looks_like_a_password_of_a_command_stays(text: str) -> None:
    assert redact(text) == text
    assert redact_deep(text) == text


def test_a_tag_of_a_column_that_is_called_like_a_secret_keeps_its_value() -> None:
    tag = {"key": "class", "value": "pii", "field": "password", "source": "x"}
    assert redact_deep({"tags": [tag]}) == {"tags": [tag]}
    assert redact_deep({"field": "password", "value": "hunter2"})["value"] == "[redacted]"
