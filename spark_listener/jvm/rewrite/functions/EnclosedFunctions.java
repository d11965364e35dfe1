package headwater.rewrite.functions;

import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Refused;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The program's Python functions, enclosed in ours. In the worker, our function removes the last column of the input if
 * it is hidden, and adds one to the output.
 */
public final class EnclosedFunctions {
    public static final String HIDDEN = HiddenColumn.PREFIX + "group"; // python_functions/grouped.py has the same
    private static final String PROFILER = "spark.sql.pyspark.udf.profiler"; // perf or memory
    private static final String BY_NAME = "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName";
    private static volatile Map<Object, byte[]> beginnings = new HashMap<>(); // Integer eval type -> byte[]: a pickle up to its last three arguments
    private static volatile String python = ""; // the version whose bytecode these hold

    private EnclosedFunctions() {}

    /** Set the code that encloses functions from now on. */
    public static void state(Map<Object, byte[]> pickles, String version) {
        beginnings = pickles;
        python = version;
    }

    /**
     * The same function, enclosed. `kinds` are the types of the hashed values for the group's reference. Null takes the
     * reference from a hidden column.
     */
    public static PythonUDF of(Expression expression, String operator, String kinds) {
        if (!(expression instanceof PythonUDF function) || !(function.func() instanceof SimplePythonFunction known)) {
            throw new Refused(operator, "its function is not one of PySpark's");
        }
        byte[] beginning = beginnings.get(function.evalType());
        if (beginning == null || !(function.dataType() instanceof StructType struct)) {
            throw new Refused(operator, "functions of its kind, " + function.evalType() + ", are not followed");
        }
        if (!known.pythonVer().equals(python)) {
            throw new Refused(operator, "its function is for Python " + known.pythonVer() + ", and the program's is " + python);
        }
        if (SQLConf.get().getConfString(PROFILER, "perf").equals("memory")) {
            throw new Refused(operator, PROFILER + " would look at what stands around its function");
        }
        StructType type = struct.add(HIDDEN, DataTypes.LongType, true);
        return new PickledCall(beginning, known.command().length())
            .text(kinds).truth(Boolean.parseBoolean(SQLConf.get().getConfString(BY_NAME, "true"))).command(known.command())
            .in(function, known, function.name(), type, function.children());
    }
}
