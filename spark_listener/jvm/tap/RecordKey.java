package headwater.tap;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;

/**
 * The position of a record that is identified by a value: a primary key or an offset. The single child is a BIGINT. A
 * value that does not fit into a reference (null, negative, `limit` or more) becomes the reference "none", and the
 * driver gets a report.
 */
public final class RecordKey extends LongOfChildren {
    private final Long limit;
    private final TaskFault met;

    public RecordKey(scala.collection.immutable.Seq<Expression> children, Long limit, TaskFault met) {
        super(children);
        this.limit = limit;
        this.met = met;
    }

    public Object eval(InternalRow input) {
        Object key = children.apply(0).eval(input);
        if (key == null || (Long) key < 0L || (Long) key > limit) {
            met.run();
            return Long.MIN_VALUE;
        }
        return key;
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode key = children.apply(0).genCode(context);
        String callback = context.addReferenceObj("unreferable", met, "java.lang.Runnable");
        String value = key.value().toString();
        String text = "long " + code.value() + " = " + key.isNull() + " || " + value + " < 0L || " + value + " > " + limit + "L ? "
            + Long.class.getName() + ".MIN_VALUE : " + value + ";\n"
            + "if (" + code.value() + " == " + Long.class.getName() + ".MIN_VALUE) {\n  " + callback + ".run();\n}\n";
        Block all = key.code().$plus(new CodeBlock(Scala.seq(text), Scala.empty()));
        return new ExprCode(all, FalseLiteral$.MODULE$, code.value());
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> renewed) {
        return new RecordKey(renewed, limit, met);
    }

    public scala.collection.immutable.Seq<Object> otherCopyArgs() {
        java.util.List<Object> more = new java.util.ArrayList<>();
        more.add(limit);
        more.add(met);
        return Scala.seq(more);
    }
}
