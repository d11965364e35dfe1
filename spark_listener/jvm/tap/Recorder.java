package headwater.tap;

import headwater.shim.OwnExpression;
import headwater.shim.Scala;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;

/**
 * Base class of taps. The children are longs, which are written one after the other into the buffer of a sink. Null is
 * written as "none".
 *
 * Two recorders with equal children are equal, even with different sinks. Spark compares canonical plans to reuse an
 * exchange, and must find the same equal plans as without us. The interface `Unevaluable` prevents that adaptive
 * execution evaluates a tap over a local relation outside of a task.
 */
abstract class Recorder extends OwnExpression implements Unevaluable {
    private final scala.collection.immutable.Seq<Expression> children;
    protected final TapSink sink;
    private transient long[] buffer; // of the interpreted form; each task has its own copy of the expression

    Recorder(scala.collection.immutable.Seq<Expression> children, TapSink sink) {
        this.children = children;
        this.sink = sink;
    }

    public scala.collection.immutable.Seq<Expression> children() {
        return children;
    }

    public boolean deterministic() {
        return false;
    }

    public Object productElement(int index) {
        return children;
    }

    public scala.collection.immutable.Seq<Object> otherCopyArgs() {
        return Scala.seq(sink);
    }

    /** Records one row; gives its reference. */
    protected long record(InternalRow input) {
        int columns = children.size();
        if (buffer == null || (int) buffer[0] >= buffer.length) {
            buffer = (long[]) sink.apply(buffer);
        }
        int at = (int) buffer[0];
        for (int i = 0; i < columns; i++) {
            Object value = children.apply(i).eval(input);
            buffer[at + i] = value == null ? Long.MIN_VALUE : ((Long) value).longValue();
        }
        buffer[0] = at + columns;
        return buffer[1]++;
    }

    /** Java code that does what `record` does, with the reference in a variable called `result` (empty: none is wanted). */
    protected Block recording(CodegenContext context, String result) {
        String taps = context.addMutableState("long[]", "taps", Initial.NONE, true, true);
        String reference = context.addReferenceObj("tap", sink, "java.util.function.Function");
        String at = context.freshName("tapAt");
        List<Expression> nodes = Scala.list(children);
        Block code = block("");
        StringBuilder stores = new StringBuilder();
        for (int i = 0; i < nodes.size(); i++) {
            ExprCode child = nodes.get(i).genCode(context);
            code = code.$plus(child.code());
            String value = child.value().toString();
            String isNull = child.isNull().toString();
            String shown = isNull.equals("false") ? value : "(" + isNull + " ? Long.MIN_VALUE : " + value + ")";
            stores.append(taps + "[" + at + " + " + i + "] = " + shown + ";\n");
        }
        String text = "if (" + taps + " == null || " + taps + "[0] >= " + taps + ".length) {\n  "
            + taps + " = (long[]) " + reference + ".apply(" + taps + ");\n}\n"
            + "int " + at + " = (int) " + taps + "[0];\n" + stores
            + taps + "[0] = " + at + " + " + nodes.size() + ";\n"
            + (result.isEmpty() ? "" : "long " + result + " = " + taps + "[1]++;\n");
        return code.$plus(block(text));
    }

    private static Block block(String text) {
        return new CodeBlock(Scala.seq(text), Scala.empty());
    }

    /** The taps' state begins as null: the first row opens the buffer. */
    private static final class Initial extends scala.runtime.AbstractFunction1<String, String> {
        static final Initial NONE = new Initial();

        public String apply(String variable) {
            return "";
        }
    }
}
