"""Five hundred secrets, planted wherever a program can put one, in the forms that secrets have: none leaves the driver."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.spark_listener.spark import environment, logged, run, script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PROGRAM = """
    import json, os, sys
    import headwater
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    planted = json.loads(open("planted.json").read())
    builder = SparkSession.builder.appName("planted " + planted["texts"].pop())
    for name, value in planted["properties"].items():
        builder = builder.config(name, value)
    builder = builder.config("spark.openlineage.capturedProperties", ",".join(planted["properties"]))
    spark = builder.config("spark.openlineage.job.tags", "password:" + planted["words"].pop()).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame = spark.range(4)

    def tried(work):
        try:
            work()
        except Exception:
            pass

    def broken(text):
        def fail(value):
            raise ValueError(text)
        return f.udf(fail, "int")

    texts = planted["texts"]
    for text in texts[:8]:
        tried(lambda: frame.select(broken(text)("id")).collect())
        spark.sparkContext.setJobDescription(text)
        tried(lambda: frame.select(broken(text)("id")).write.parquet("out/" + str(len(text))))
        spark.sparkContext.setJobDescription(None)
    rest = texts[8:]
    everything = "; ".join(rest)
    tried(lambda: frame.select(broken(everything)("id")).write.parquet("never"))
    comments = " ".join("/* " + text.replace("*/", "") + " */" for text in rest)
    commented = spark.sql("SELECT id " + comments + " FROM range(3)")
    commented.write.mode("overwrite").option("password", planted["words"].pop()).parquet("written")
    spark.sql("SELECT 'x' AS password, 1L AS pin_secret, id FROM range(2)").coalesce(1).write.parquet("users")
    spark.read.parquet("users").createOrReplaceTempView("users")
    literals = " OR ".join(form.format(word) for form, word in zip(planted["literals"], planted["words"][:20]))
    spark.sql("SELECT * FROM users WHERE " + literals).write.mode("overwrite").parquet("literal")
    numbers = planted["numbers"]
    spark.sql("SELECT * FROM users WHERE pin_secret IN (" + ", ".join(map(str, numbers[:4])) + ") OR pin_secret = " + str(numbers[4])
              ).write.mode("overwrite").parquet("number")
    spark.sql("CREATE TABLE people (name STRING, password STRING) USING parquet")
    spark.sql("INSERT INTO people (name, password) VALUES ('ann', '" + planted["words"][42] + "')")
    options = ", ".join("'password." + str(at) + "' = '" + word + "'" for at, word in enumerate(planted["words"][20:40]))
    spark.sql("CREATE TABLE t (id BIGINT) USING parquet TBLPROPERTIES (" + options + ")")
    for at, url in enumerate(planted["urls"]):
        with headwater.operation("copy " + str(at), [url, ("db", url)], [(url, "x")], url + " " + rest[at % len(rest)]):
            pass
    spark.read.option("secret", planted["words"][41]).parquet("written").write.parquet("again")
    tried(lambda: spark.read.parquet(planted["urls"][0]).collect())
    raise RuntimeError(everything)
"""
FORMS = [
    "password={}", "password = '{}'", '"password": "{}"', "PWD={};", "--token {}", "--api-key={}", "Authorization: Bearer {}", "secret: {}",
    '{{"db": {{"password": "{}"}}}}', '{{"passwords": ["{}", "x"]}}', '{{"name": "token", "value": "{}"}}',
    "jdbc:postgresql://h/d?user=u&password={}",
    "https://u:{}@host/path", "s3a://key:{}@bucket/x", "AccountKey={};EndpointSuffix=y", "aws_secret_access_key={}",
    "<password>{}</password>",
    "IDENTIFIED BY '{}'", "x-amz-signature={}&y=1", "refresh_token={}", "client_secret={}", "passphrase={}", '\\"password\\": \\"{}\\"',
    "OPTIONS (password '{}')", "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
]  # fmt: skip
LITERALS = [
    "password = '{}'", "password == '{}'", "password <> '{}'", "'{}' = password", "password LIKE '{}%'", "password IN ('{}', 'x')",
    "upper(password) = '{}'", "password <=> '{}'", "password BETWEEN '{}' AND 'x'", "password > '{}'",
] * 2  # fmt: skip
NAMES = [
    "spark.db{}.password", "spark.hadoop.fs.s3a.bucket.b{}.secret.key", "spark.hadoop.fs.s3a.bucket.b{}.access.key",
    "spark.x{}.apiKey", "spark.x{}.token",
    "spark.ssl{}.keyPassword", "spark.x{}.clientSecret", "spark.x{}.private-key", "spark.hadoop.fs.azure.account.key.a{}",
    "spark.x{}.credentials",
]  # fmt: skip


class Planter:
    """Makes recognisable secrets, and keeps them."""

    def __init__(self) -> None:
        self.secrets: list[str] = []

    def word(self) -> str:
        self.secrets.append(f"Zq{len(self.secrets):04d}kX7vLm9TpR")
        return self.secrets[-1]

    def number(self) -> int:
        self.secrets.append(str(7_310_000_000 + len(self.secrets)))
        return int(self.secrets[-1])

    def planted(self) -> dict[str, object]:
        texts = [form.format(self.word()) for form in FORMS for _ in range(8)]
        texts += [json.dumps({"user": {"password": self.number(), "tokens": [self.word(), self.word()]}}) for _ in range(10)]
        properties = {NAMES[at % len(NAMES)].format(at): self.word() for at in range(100)}
        properties |= {f"spark.plain{at}": FORMS[at % len(FORMS)].format(self.word()).replace("\n", " ") for at in range(25)}
        urls = [address.format(self.word()) for address in _ADDRESSES for _ in range(4)]
        return {
            "texts": texts, "properties": properties, "urls": urls, "words": [self.word() for _ in range(60)], "literals": LITERALS,
            "numbers": [self.number() for _ in range(5)],
        }  # fmt: skip


_ADDRESSES = [
    "https://u:{}@host/a", "s3a://k:{}@bucket/p", "ftp://x:{}@h:21/f", "hdfs://me:{}@nn:8020/d", "https://h/a?token={}", "https://h/a?sig={}&x=1",
]  # fmt: skip


@pytest.mark.slow
def test_none_of_five_hundred_secrets_leaves_the_driver(tmp_path: Path, root: Path) -> None:
    planter = Planter()
    (tmp_path / "planted.json").write_text(json.dumps(planter.planted()))
    arguments = ["--password", planter.word(), f"--token={planter.word()}", f"https://u:{planter.word()}@h", f"password={planter.word()}"]
    variables = {f"PLANTED_{at}": form.format(planter.word()).replace("\n", " ") for at, form in enumerate(FORMS[:20])}
    variables |= {f"PLANTED_{at}_SECRET": planter.word() for at in range(40)}
    assert len(planter.secrets) >= 500, len(planter.secrets)
    script(tmp_path, "planted.py", PROGRAM)
    env = environment(root, HEADWATER_RECORD_ENV=",".join(variables), OPENLINEAGE__TRANSPORT__TYPE="file", **variables)
    env["OPENLINEAGE__TRANSPORT__LOG_FILE_PATH"] = str(tmp_path / "sent.json")
    env["OPENLINEAGE__TRANSPORT__APPEND"] = "true"
    done = run(["-m", "headwater", "run", "--home", "home", "--mode", "auto", "planted.py", *arguments], tmp_path, env)
    assert done.returncode == 1, done.stderr[-2000:]
    events = logged(tmp_path / "home")
    assert len(events) > 60, done.stderr[-2000:]
    assert "[redacted]" in json.dumps(events)
    left = [tmp_path / "sent.json", *(path for path in (tmp_path / "home").rglob("*") if path.is_file())]
    assert (tmp_path / "sent.json").stat().st_size > 10_000
    told = b"".join(path.read_bytes() for path in left)
    ours = "".join(line for line in done.stderr.splitlines() if "headwater" in line).encode()
    asked = ["--where", "id = 1", "--to", f"{tmp_path}/users", "--home", "home", "-f", "json"]
    answer = json.loads(run(["-m", "headwater", "trace", f"{tmp_path}/literal", *asked], tmp_path, env).stdout)
    assert (answer["exact"], [record["row"] for record in answer["records"]]) == (True, [1]), answer
    leaked = {secret: _around(told, secret) for secret in planter.secrets if secret.encode() in told or secret.encode() in ours}
    assert not leaked, f"{len(leaked)} of {len(planter.secrets)}: {list(leaked.values())[:20]}"


def _around(told: bytes, secret: str) -> str:
    at = told.find(secret.encode())
    return told[max(0, at - 60) : at + 30].decode(errors="replace")
