package headwater.tap;

import headwater.shim.OwnExpression;
import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * A reference that a Python worker returned with a row. If it returned none, the row has no reference, and the driver
 * gets a report of missing records.
 */
public final class GivenReference extends OwnExpression {
    private final scala.collection.immutable.Seq<Expression> children;
    private final TaskFault lacking;

    public GivenReference(scala.collection.immutable.Seq<Expression> children, TaskFault lacking) {
        this.children = children;
        this.lacking = lacking;
    }

    public scala.collection.immutable.Seq<Expression> children() {
        return children;
    }

    public DataType dataType() {
        return DataTypes.LongType;
    }

    public Object eval(InternalRow input) {
        Object given = children.apply(0).eval(input);
        if (given == null) {
            lacking.run();
            return Long.MIN_VALUE;
        }
        return given;
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode given = children.apply(0).genCode(context);
        String callback = context.addReferenceObj("lacking", lacking, "java.lang.Runnable");
        String text = "long " + code.value() + " = " + given.value() + ";\n"
            + "if (" + given.isNull() + ") {\n  " + callback + ".run();\n  " + code.value() + " = Long.MIN_VALUE;\n}\n";
        Block all = given.code().$plus(new CodeBlock(Scala.seq(text), Scala.empty()));
        return new ExprCode(all, FalseLiteral$.MODULE$, code.value());
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> renewed) {
        return new GivenReference(renewed, lacking);
    }

    public Object productElement(int index) {
        return children;
    }

    public scala.collection.immutable.Seq<Object> otherCopyArgs() {
        return Scala.seq(lacking);
    }
}
