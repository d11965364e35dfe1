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
 * The reference to a record of a topic. Its children are the partition, an INT, which becomes the ordinal, and the
 * offset, a BIGINT. A record that does not fit into a reference (a partition from `partitions` on, an offset from 2^40
 * on) becomes the reference "none", and the driver gets a report.
 */
public final class TopicOffset extends LongOfChildren {
    private final Integer partitions;
    private final TaskFault met;

    public TopicOffset(scala.collection.immutable.Seq<Expression> children, Integer partitions, TaskFault met) {
        super(children);
        this.partitions = partitions;
        this.met = met;
    }

    public Object eval(InternalRow input) {
        Object partition = children.apply(0).eval(input);
        Object offset = children.apply(1).eval(input);
        if (partition == null || offset == null || (Integer) partition < 0 || (Integer) partition >= partitions
            || ((Long) offset) >>> 40 != 0L) {
            met.run();
            return Long.MIN_VALUE;
        }
        return ((Integer) partition).longValue() << 40 | ((Long) offset);
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode partition = children.apply(0).genCode(context);
        ExprCode offset = children.apply(1).genCode(context);
        String callback = context.addReferenceObj("unreferable", met, "java.lang.Runnable");
        String at = partition.value().toString();
        String text = "long " + code.value() + " = " + partition.isNull() + " || " + offset.isNull() + " || " + at + " < 0 || " + at + " >= " + partitions
            + " || " + offset.value() + " >>> 40 != 0L ? " + Long.class.getName() + ".MIN_VALUE : (long) " + at + " << 40 | " + offset.value() + ";\n"
            + "if (" + code.value() + " == " + Long.class.getName() + ".MIN_VALUE) {\n  " + callback + ".run();\n}\n";
        Block all = partition.code().$plus(offset.code()).$plus(new CodeBlock(Scala.seq(text), Scala.empty()));
        return new ExprCode(all, FalseLiteral$.MODULE$, code.value());
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> renewed) {
        return new TopicOffset(renewed, partitions, met);
    }

    public scala.collection.immutable.Seq<Object> otherCopyArgs() {
        java.util.List<Object> more = new java.util.ArrayList<>();
        more.add(partitions);
        more.add(met);
        return Scala.seq(more);
    }
}
