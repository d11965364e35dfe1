"""PigMix L1 to L17 as DataFrame programs, over 250,000 page views (`--scale 1`: a million), captured against plain.

Each program does the same as Pig's script of that number. L12 stores three results, like the script.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.data.pigmix import pigmix
from bench.spark.measures import Target, measures
from bench.spark.turns import CAPTURING, PLAIN, Program, SparkTurns
from bench.suite import PairedSuite, Plan, Turns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCALE = 0.25
_TARGET = Target(mean=1.15, worst=1.26)


def _l1(spark: SparkSession, f: Any) -> DataFrame:
    views = spark.table("page_views").select("user", "action", "page_info", f.explode("page_links").alias("page_links"))
    header = f.when(views.action == 1, f.col("page_info")["a"]).otherwise(f.col("page_links")["b"])
    return views.select("user", header.alias("header")).groupBy("user").agg(f.count("user").alias("cnt"))


def _l2(spark: SparkSession, f: Any) -> DataFrame:
    names = spark.table("power_users").select("name")
    views = spark.table("page_views").select("user", "estimated_revenue")
    return views.join(f.broadcast(names), views.user == names.name)


def _l3(spark: SparkSession, f: Any) -> DataFrame:
    names, views = spark.table("users").select("name"), spark.table("page_views").select("user", "estimated_revenue")
    return names.join(views, names.name == views.user).groupBy("name").agg(f.sum("estimated_revenue").alias("revenue"))


def _l4(spark: SparkSession, f: Any) -> DataFrame:
    return spark.table("page_views").groupBy("user").agg(f.countDistinct("action").alias("actions"))


def _l5(spark: SparkSession, _f: Any) -> DataFrame:
    names, views = spark.table("users").select("name"), spark.table("page_views").select("user")
    return views.join(names, views.user == names.name, "left_anti").distinct()


def _l6(spark: SparkSession, f: Any) -> DataFrame:
    views = spark.table("page_views")
    return views.groupBy("user", "query_term", "ip_addr", "timestamp").agg(f.sum("timespent").alias("timespent"))


def _l7(spark: SparkSession, f: Any) -> DataFrame:
    morning = f.col("timestamp") < 43_200
    halves = (f.count(f.when(morning, f.col("user"))).alias("morning"), f.count(f.when(~morning, f.col("user"))).alias("afternoon"))
    return spark.table("page_views").groupBy("user").agg(*halves)


def _l8(spark: SparkSession, f: Any) -> DataFrame:
    return spark.table("page_views").agg(f.sum("timespent").alias("timespent"), f.avg("estimated_revenue").alias("revenue"))


def _l9(spark: SparkSession, _f: Any) -> DataFrame:
    return spark.table("page_views").orderBy("query_term")


def _l10(spark: SparkSession, f: Any) -> DataFrame:
    return spark.table("page_views").orderBy("query_term", f.desc("estimated_revenue"), "timespent")


def _l11(spark: SparkSession, f: Any) -> DataFrame:
    users = spark.table("page_views").select("user").distinct()
    return users.union(spark.table("widerow").select(f.col("user").alias("name")).distinct()).distinct()


def _l12(spark: SparkSession, f: Any) -> tuple[DataFrame, ...]:
    views = spark.table("page_views").select("user", "action", "timespent", "query_term", "estimated_revenue")
    known = views.where("user IS NOT NULL")
    return (
        known.where("query_term IS NOT NULL").groupBy("user").agg(f.max("estimated_revenue").alias("highest")),
        views.where("user IS NULL").groupBy("query_term").agg(f.sum("timespent").alias("timespent")),
        known.where("query_term IS NULL").groupBy("action").agg(f.count("user").alias("views")),
    )


def _l13(spark: SparkSession, _f: Any) -> DataFrame:
    users = spark.table("power_users_samples").select("name", "phone")
    views = spark.table("page_views").select("user", "estimated_revenue")
    return views.join(users, views.user == users.name, "left_outer")


def _l14(spark: SparkSession, _f: Any) -> DataFrame:
    names = spark.table("users_sorted").select("name")
    views = spark.table("page_views_sorted").select("user", "estimated_revenue")
    return views.join(names.hint("merge"), views.user == names.name)


def _l15(spark: SparkSession, f: Any) -> DataFrame:
    return (
        spark.table("page_views")
        .groupBy("user")
        .agg(
            f.countDistinct("action").alias("actions"),
            f.sum_distinct("estimated_revenue").alias("revenue"),
            f.expr("CAST(avg(DISTINCT timespent) AS INT)").alias("timespent"),
        )
    )


def _l16(spark: SparkSession, f: Any) -> DataFrame:
    ordered = f.sort_array(f.collect_list("estimated_revenue"))
    total = f.aggregate(ordered, f.lit(0.0), lambda sum_, value: sum_ + value)
    return spark.table("page_views").groupBy("user").agg(total.alias("revenue"))


def _l17(spark: SparkSession, f: Any) -> DataFrame:
    wide = spark.table("widegroupbydata")
    sums = [f.sum(name).alias(f"sum_{name}") for name in ("timespent", "timespent_1", "timespent_2")]
    means = [f.avg(name).alias(f"avg_{name}") for name in ("estimated_revenue", "estimated_revenue_1", "estimated_revenue_2")]
    return wide.groupBy(*wide.columns).agg(*sums, *means).drop(*wide.columns)


_SCRIPTS: dict[str, Callable[[SparkSession, Any], DataFrame | tuple[DataFrame, ...]]] = {
    "L1": _l1, "L2": _l2, "L3": _l3, "L4": _l4, "L5": _l5, "L6": _l6, "L7": _l7, "L8": _l8, "L9": _l9, "L10": _l10, "L11": _l11,
    "L12": _l12, "L13": _l13, "L14": _l14, "L15": _l15, "L16": _l16, "L17": _l17,
}  # fmt: skip


def _program(
    script: Callable[[SparkSession, Any], DataFrame | tuple[DataFrame, ...]],
) -> Callable[[SparkSession], DataFrame | tuple[DataFrame, ...]]:
    def program(spark: SparkSession) -> DataFrame | tuple[DataFrame, ...]:
        from pyspark.sql import functions as f

        return script(spark, f)

    return program


PROGRAMS: dict[str, Program] = {name: _program(script) for name, script in _SCRIPTS.items()}


class PigMixSuite:
    def __init__(self, scale: float) -> None:
        self._scale = scale
        self.plan = Plan(
            name="pigmix" if scale == _SCALE else f"pigmix-{scale:g}",
            arms=(*PLAIN, *CAPTURING),
            baseline=PLAIN[0],
            control=PLAIN[1],
            cases=tuple(_SCRIPTS),
            measures=measures(CAPTURING, tuple(_SCRIPTS), {"active": _TARGET}),
            rounds=16,
            warm_up=3,
            asked=("active",),
        )

    def prepare(self, folder: Path) -> None:  # noqa: ARG002  # what it makes is kept for the next run
        pigmix(self._scale)

    def turns(self, folder: Path) -> Turns:
        return SparkTurns(folder, PROGRAMS, pigmix(self._scale))


def suite(scale: float | None = None) -> PairedSuite:
    return PigMixSuite(scale or _SCALE)
