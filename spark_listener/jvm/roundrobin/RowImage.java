package headwater.roundrobin;

import headwater.shim.OwnExpression;
import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode$;

/** Something of the bytes that a row of the children has as Spark keeps rows. */
abstract class RowImage extends OwnExpression {
    private final scala.collection.immutable.Seq<Expression> children;
    private transient UnsafeProjection projection; // of the interpreted form

    RowImage(scala.collection.immutable.Seq<Expression> children) {
        this.children = children;
    }

    public scala.collection.immutable.Seq<Expression> children() {
        return children;
    }

    public Object productElement(int index) {
        return children;
    }

    /** The value for one row. */
    abstract Object of(UnsafeRow row);

    /** The value as Java code. `row` is the name of the row's variable. */
    abstract String code(String row);

    public Object eval(InternalRow input) {
        if (projection == null) {
            projection = UnsafeProjection.create(children);
        }
        return of(projection.apply(input));
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode row = GenerateUnsafeProjection$.MODULE$.createCode(context, children, false);
        String result = context.freshName("rowImage");
        String text = org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator$.MODULE$.javaType(dataType()) + " " + result + " = "
            + code(row.value().toString()) + ";\n";
        return new ExprCode(
            row.code().$plus(new CodeBlock(Scala.seq(text), Scala.empty())), FalseLiteral$.MODULE$,
            JavaCode$.MODULE$.variable(result, dataType()));
    }
}
