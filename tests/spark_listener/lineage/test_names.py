"""Datasets and jobs are named as OpenLineage names them."""

from pathlib import Path

import pytest

from headwater.spark_listener.lineage.datasets import bare_input, named_dataset
from headwater.spark_listener.lineage.names import JobNames, base_name, job_name, snake_case
from headwater.spark_listener.lineage.naming import dataset_name, folder_of


@pytest.mark.parametrize(
    ("path", "namespace", "name"),
    [
        ("/data/clean/weather", "file", "/data/clean/weather"),
        ("file:/data/clean/weather/", "file", "/data/clean/weather"),
        ("file:///data/a%20b", "file", "/data/a%20b"),
        ("relative/x", "file", f"{Path.cwd()}/relative/x"),
        ("s3a://bucket/a/b/", "s3://bucket", "a/b"),
        ("s3://bucket/a/b", "s3://bucket", "a/b"),
        ("gs://bucket/a", "gs://bucket", "a"),
        ("hdfs://name:8020/warehouse/t", "hdfs://name:8020", "/warehouse/t"),
        ("abfss://container@account.dfs.core.windows.net/a", "abfss://container@account.dfs.core.windows.net", "/a"),
        ("abfs://container@account.dfs.core.windows.net/a", "abfss://container@account.dfs.core.windows.net", "/a"),
        ("wasbs://container@account.blob.core.windows.net/a/b", "wasbs://container@account.blob.core.windows.net", "a/b"),
        ("wasb://container@account.blob.core.windows.net/a", "wasbs://container@account.blob.core.windows.net", "a"),
        ("dbfs://workspace/a/b", "dbfs://workspace", "/a/b"),
        ("file://host/data/x", "file://host", "/data/x"),
        ("file://localhost/data/x", "file", "/data/x"),
        ("s3a://AKIA:secret@bucket/a", "s3://bucket", "a"),
        ("/data/token=7/x", "file", "/data/token=7/x"),
    ],
)
def test_a_path_names_its_dataset(path: str, namespace: str, name: str) -> None:
    assert dataset_name(path) == (namespace, name)


def test_the_folder_of_a_file_lies_above_its_partitions() -> None:
    assert folder_of("file:/t/origin=EWR/month=2/part-0.parquet") == "file:/t"
    assert folder_of("file:/t/part-0.parquet") == "file:/t"


def test_job_names_read_as_those_of_the_spark_integration() -> None:
    assert snake_case("MyETL App-2") == "my_etl_app_2"
    assert job_name("clean", "execute InsertIntoHadoopFsRelationCommand", "/out/clean/Weather") == (
        "clean.execute_insert_into_hadoop_fs_relation_command.weather"
    )
    assert job_name("clean", "Aggregate") == "clean.aggregate"
    assert base_name("/") == "root"


def test_outputs_whose_names_differ_in_characters_that_jobs_lack_have_a_job_each() -> None:
    outputs = [("file", path) for path in ("/a b", "/a_b", "/a-b", "/A B", "/a b ")]
    names = JobNames()
    first = [names.of("app", "write", output) for output in outputs]
    assert len(set(first)) == len(outputs)
    assert [names.of("app", "write", output) for output in outputs] == first


def test_what_a_program_names_is_a_place_in_its_dataset() -> None:
    partition = bare_input("s3a://lake/sales/year=2026/month=5")
    assert ((partition.namespace, partition.name), partition.places) == (("s3://lake", "sales"), ["sales/year=2026/month=5"])
    whole, bucket = bare_input("file:/lake/sales"), bare_input("s3a://lake/day=1")
    assert (whole.places, bucket.name, bucket.places) == (["/lake/sales"], "/", ["/day=1"])
    declared = named_dataset("file", "/data/env=prod")
    assert (declared.name, declared.places) == ("/data", ["/data/env=prod"]), "a program that names a partition reads no more"
