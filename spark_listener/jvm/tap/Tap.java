package headwater.tap;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * A predicate that is always true and records its children. A Filter with it keeps output, order and partitioning, and
 * is fused into whole-stage code. The predicate declares itself not deterministic, so that nothing drops, repeats or
 * moves it.
 */
public final class Tap extends Recorder {
    public Tap(scala.collection.immutable.Seq<Expression> children, TapSink sink) {
        super(children, sink);
    }

    public DataType dataType() {
        return DataTypes.BooleanType;
    }

    public Object eval(InternalRow input) {
        record(input);
        return true;
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        return new ExprCode(
            recording(context, ""),
            org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$.MODULE$,
            org.apache.spark.sql.catalyst.expressions.codegen.TrueLiteral$.MODULE$);
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> children) {
        return new Tap(children, sink);
    }
}
