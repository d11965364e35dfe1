package headwater.rewrite.functions;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.Seq;

/**
 * A pickle that calls one of our functions. Python made its beginning, up to the last arguments, which are appended
 * here. The pickle of the program's function is such an argument, and is not read or run here. The opcodes are those of
 * pickle's protocol 4.
 */
final class PickledCall {
    private static final int TRUE = 0x88;
    private static final int FALSE = 0x89;
    private static final int BYTES = 0x8e; // eight bytes of length follow
    private static final int TEXT = 'X'; // four bytes of length follow
    private static final int NONE = 'N';
    private static final int TUPLE = 't'; // since the mark that the beginning has
    private static final int CALL = 'R';
    private static final int STOP = '.';

    private final ByteArrayOutputStream result;

    PickledCall(byte[] beginning, int more) {
        result = new ByteArrayOutputStream(beginning.length + more + 64);
        result.write(beginning, 0, beginning.length);
    }

    /** Appends a text, or None. */
    PickledCall text(String text) {
        if (text == null) {
            result.write(NONE);
            return this;
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        result.write(TEXT);
        number(bytes.length, 4);
        result.write(bytes, 0, bytes.length);
        return this;
    }

    PickledCall truth(boolean value) {
        result.write(value ? TRUE : FALSE);
        return this;
    }

    /** Appends the pickle of a function of the program, or None. */
    PickledCall command(Seq<Object> command) {
        if (command == null) {
            result.write(NONE);
            return this;
        }
        result.write(BYTES);
        number(command.length(), 8);
        for (scala.collection.Iterator<Object> bytes = command.iterator(); bytes.hasNext(); ) {
            result.write(((Byte) bytes.next()).byteValue());
        }
        return this;
    }

    /** The function of the program with the finished pickle in place of its own. */
    PythonUDF in(PythonUDF function, SimplePythonFunction known, String name, DataType type, Seq<Expression> arguments) {
        result.write(TUPLE);
        result.write(CALL);
        result.write(STOP);
        SimplePythonFunction enclosing = new SimplePythonFunction(
            result.toByteArray(), known.envVars(), known.pythonIncludes(), known.pythonExec(), known.pythonVer(), known.broadcastVars(),
            known.accumulator());
        return function.copy(name, enclosing, type, arguments, function.evalType(), function.udfDeterministic(), function.resultId());
    }

    private void number(long number, int bytes) {
        for (int i = 0; i < bytes; i++) {
            result.write((int) (number >>> 8 * i)); // its low byte
        }
    }
}
