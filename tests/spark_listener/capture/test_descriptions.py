"""The description of a plan's expressions: a user's function is never taken for Spark's own of the same name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.spark_listener.capture import Bridge

pytestmark = pytest.mark.spark

USERS_MAX = """
import org.apache.spark.sql.Row;
import org.apache.spark.sql.expressions.MutableAggregationBuffer;
import org.apache.spark.sql.expressions.UserDefinedAggregateFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

public class Max extends UserDefinedAggregateFunction {
    public StructType inputSchema() { return new StructType().add("v", DataTypes.LongType); }
    public StructType bufferSchema() { return new StructType().add("n", DataTypes.LongType); }
    public DataType dataType() { return DataTypes.LongType; }
    public boolean deterministic() { return true; }
    public void initialize(MutableAggregationBuffer buffer) { buffer.update(0, Long.valueOf(0L)); }
    public void update(MutableAggregationBuffer buffer, Row input) { buffer.update(0, Long.valueOf(buffer.getLong(0) + 1L)); }
    public void merge(MutableAggregationBuffer buffer, Row other) { buffer.update(0, Long.valueOf(buffer.getLong(0) + other.getLong(0))); }
    public Object evaluate(Row buffer) { return buffer.get(0); }
}
"""


def described(session: SparkSession, query: str) -> list[dict[str, Any]]:
    """The operators of a query, as a manifest has them."""
    jvm: Any = session.sparkContext._jvm
    plan = session.sql(query)._jdf.queryExecution().optimizedPlan()
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    description = jvm.java.lang.Class.forName("headwater.describe.PlanDescription", True, loader)
    (of,) = [method for method in description.getDeclaredMethods() if method.getName() == "of"]
    arguments = jvm.java.util.ArrayList()
    arguments.add(plan)
    arguments.add(None)
    parts = of.invoke(None, arguments.toArray()).parts()
    operators: list[dict[str, Any]] = json.loads(jvm.com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString(parts))["operators"]
    return operators


def test_a_user_s_aggregate_is_told_from_spark_s_own(spark: SparkSession, bridge: Bridge) -> None:
    session = spark.newSession()
    bridge.adopt(session)
    jvm: Any = spark.sparkContext._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(USERS_MAX)
    nothing = jvm.java.util.ArrayList().toArray()
    users = compiler.getClassLoader().loadClass("Max").getConstructors()[0].newInstance(nothing)
    own = described(session, "select max(id) as m from range(3)")
    session._jsparkSession.udf().register("max", users)
    theirs = described(session, "select max(id) as m from range(3)")
    functions = [next(o["defines"][0]["expr"] for o in operators if o["op"] == "Aggregate") for operators in (own, theirs)]
    assert [function["fn"] for function in functions] == ["max", "user_function"]
    assert functions[1]["name"] == "max"
    assert functions[1]["aggregate"]


def test_what_cannot_be_described_is_a_fault_that_the_manifest_says(spark: SparkSession, bridge: Bridge) -> None:
    jvm: Any = spark.sparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()

    def method(name: str, called: str) -> Any:
        (found,) = [m for m in jvm.java.lang.Class.forName(name, True, loader).getMethods() if m.getName() == called]
        return found

    def made(name: str, *arguments: Any) -> Any:
        (constructor,) = jvm.java.lang.Class.forName(name, True, loader).getConstructors()
        return constructor.newInstance(_listed(jvm, *arguments).toArray())

    plan = spark.range(3)._jdf.queryExecution().optimizedPlan()
    captures = made("headwater.rewrite.core.Captures", spark.sparkContext._jsc.sc(), "/segments", 0.0)
    capture = made("headwater.rewrite.core.Capture", plan, captures, made("headwater.rewrite.families.Families"))
    capture.getClass().getField("rewritten").set(capture, True)
    capture.getClass().getField("boundaries").get(capture).add("this is none")
    description = method("headwater.describe.PlanDescription", "of").invoke(None, _listed(jvm, plan, capture).toArray())
    arguments = _listed(jvm, capture, description, 7, spark.sparkContext._jsc.hadoopConfiguration())
    manifest = method("headwater.describe.Manifest", "of").invoke(None, arguments.toArray())
    assert (manifest["status"], list(manifest["boundaries"])) == ("refused", [])
    assert manifest["problems"][0]["kind"] == "fault"


def _listed(jvm: Any, *values: Any) -> Any:
    result = jvm.java.util.ArrayList()
    for value in values:
        result.add(value)
    return result
