package headwater.tap;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Records its children, as a tap does, and gives the reference of the row that it recorded: for what stands above a window. */
public final class RowReference extends Recorder {
    public RowReference(scala.collection.immutable.Seq<Expression> children, TapSink sink) {
        super(children, sink);
    }

    public DataType dataType() {
        return DataTypes.LongType;
    }

    public Object eval(InternalRow input) {
        return record(input);
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        String result = context.freshName("rowReference");
        return new ExprCode(
            recording(context, result),
            org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$.MODULE$,
            JavaCode$.MODULE$.variable(result, DataTypes.LongType));
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> children) {
        return new RowReference(children, sink);
    }
}
