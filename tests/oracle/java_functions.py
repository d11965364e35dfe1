"""An aggregate function of Java, an `Aggregator`, compiled in the JVM of a session as a program's own jar would bring it."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_SOURCE = """
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.expressions.Aggregator;

public class JavaMean extends Aggregator {
    public Object zero() {
        return "0 0";
    }

    public Object reduce(Object buffer, Object value) {
        return value == null ? buffer : merge(buffer, value + " 1");
    }

    public Object merge(Object one, Object other) {
        String[] left = ((String) one).split(" ");
        String[] right = ((String) other).split(" ");
        return (Double.parseDouble(left[0]) + Double.parseDouble(right[0])) + " " + (Long.parseLong(left[1]) + Long.parseLong(right[1]));
    }

    public Object finish(Object buffer) {
        String[] parts = ((String) buffer).split(" ");
        return Double.valueOf(Double.parseDouble(parts[0]) / Math.max(1L, Long.parseLong(parts[1])));
    }

    public Encoder bufferEncoder() {
        return Encoders.STRING();
    }

    public Encoder outputEncoder() {
        return Encoders.DOUBLE();
    }
}
"""


def register_java_mean(session: SparkSession, name: str) -> None:
    """Give a session a function over doubles: their mean."""
    jvm: Any = session.sparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        made = jvm.java.lang.Class.forName("JavaMean", True, loader)
    except Py4JJavaError:  # ClassNotFoundException
        loader.addURL(jvm.java.net.URI(_compiled(jvm).as_uri()).toURL())
        made = jvm.java.lang.Class.forName("JavaMean", True, loader)
    aggregator = made.getConstructors()[0].newInstance(jvm.java.util.ArrayList().toArray())
    function = jvm.org.apache.spark.sql.functions.udaf(aggregator, jvm.org.apache.spark.sql.Encoders.DOUBLE())
    session._jsparkSession.udf().register(name, function)


def _compiled(jvm: Any) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="java-functions-"))
    resources = jvm.org.codehaus.commons.compiler.util.resource
    finder = resources.MapResourceFinder()
    finder.addResource("JavaMean.java", _SOURCE)
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setClassFileCreator(resources.DirectoryResourceCreator(jvm.java.io.File(str(folder))))
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    resource = jvm.java.lang.Class.forName("org.codehaus.commons.compiler.util.resource.Resource", True, loader)
    array = jvm.java.lang.reflect.Array.newInstance(resource, 1)
    jvm.java.lang.reflect.Array.set(array, 0, finder.resources().toArray()[0])
    compiler.compile(array)
    jar = folder / "functions.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for path in folder.glob("*.class"):
            archive.write(path, path.name)
    return jar
