package headwater.tap;

import headwater.shim.Scala;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;

/**
 * The position of a row by a key of any type or of several columns. Its children are the columns: BIGINT, DECIMAL or
 * STRING. An evaluation records the key. A key that is recorded twice, or for a row that is dropped, does no harm, so
 * the expression is deterministic. Spark pushes filters into the database as without it, and rows that they exclude are
 * not recorded.
 */
public final class RowKey extends LongOfChildren {
    private final KeyRecorder recorder;

    public RowKey(scala.collection.immutable.Seq<Expression> children, KeyRecorder recorder) {
        super(children);
        this.recorder = recorder;
    }

    public Object eval(InternalRow input) {
        Object[] values = new Object[children.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = children.apply(i).eval(input);
        }
        return recorder.applyAsLong(values);
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        String recording = context.addReferenceObj("rowKey", recorder, "java.util.function.ToLongFunction");
        String values = context.freshName("keyValues");
        List<Expression> nodes = Scala.list(children);
        Block all = new CodeBlock(Scala.seq(""), Scala.empty());
        StringBuilder text = new StringBuilder("Object[] " + values + " = new Object[" + nodes.size() + "];\n");
        for (int i = 0; i < nodes.size(); i++) {
            Expression node = nodes.get(i);
            ExprCode child = node.genCode(context);
            all = all.$plus(child.code());
            String value = child.value().toString();
            String boxed = node.dataType() == org.apache.spark.sql.types.DataTypes.LongType ? "java.lang.Long.valueOf(" + value + ")" : value;
            text.append("if (!" + child.isNull() + ") {\n  " + values + "[" + i + "] = " + boxed + ";\n}\n");
        }
        text.append("long " + code.value() + " = " + recording + ".applyAsLong(" + values + ");\n");
        return new ExprCode(all.$plus(new CodeBlock(Scala.seq(text.toString()), Scala.empty())), FalseLiteral$.MODULE$, code.value());
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> renewed) {
        return new RowKey(renewed, recorder);
    }

    public scala.collection.immutable.Seq<Object> otherCopyArgs() {
        return Scala.seq(recorder);
    }
}
