package headwater.rewrite.functions;

import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Refused;
import java.io.ByteArrayOutputStream;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * The program's Python functions, enclosed in ours. In the worker, our function removes the last column of the input if
 * it is hidden, and adds one to the output. The pickle of the program's function is an argument in another pickle, and
 * is not read or run here. The opcodes are those of pickle's protocol 4.
 */
public final class EnclosedFunctions {
    public static final String HIDDEN = HiddenColumn.PREFIX + "group"; // python_functions/grouped.py has the same
    private static final String PROFILER = "spark.sql.pyspark.udf.profiler"; // perf or memory
    private static final String BY_NAME = "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName";
    private static final int TRUE = 0x88;
    private static final int FALSE = 0x89;
    private static final int BYTES = 0x8e; // eight bytes of length follow
    private static final int NONE = 'N';
    private static final int TEXT = 0x8c; // a byte of length follows
    private static final int TUPLE = 't'; // since the mark that the beginning has
    private static final int CALL = 'R';
    private static final int STOP = '.';
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
        SimplePythonFunction enclosed = new SimplePythonFunction(
            pickled(beginning, kinds, known.command()), known.envVars(), known.pythonIncludes(), known.pythonExec(), known.pythonVer(),
            known.broadcastVars(), known.accumulator());
        StructType type = struct.add(HIDDEN, DataTypes.LongType, true);
        return function.copy(
            function.name(), enclosed, type, function.children(), function.evalType(), function.udfDeterministic(), function.resultId());
    }

    private static byte[] pickled(byte[] beginning, String kinds, Seq<Object> command) {
        int length = command.length();
        ByteArrayOutputStream result = new ByteArrayOutputStream(beginning.length + length + 16);
        result.write(beginning, 0, beginning.length);
        if (kinds == null) {
            result.write(NONE);
        } else {
            result.write(TEXT);
            result.write(kinds.length());
            for (int i = 0; i < kinds.length(); i++) {
                result.write(kinds.charAt(i));
            }
        }
        result.write(Boolean.parseBoolean(SQLConf.get().getConfString(BY_NAME, "true")) ? TRUE : FALSE);
        result.write(BYTES);
        for (int i = 0; i < 8; i++) {
            result.write((int) ((long) length >>> 8 * i)); // its low byte
        }
        scala.collection.Iterator<Object> bytes = command.iterator();
        while (bytes.hasNext()) {
            result.write(((Byte) bytes.next()).byteValue());
        }
        result.write(TUPLE);
        result.write(CALL);
        result.write(STOP);
        return result.toByteArray();
    }
}
