package headwater.replay;

import headwater.shim.OwnExpression;
import headwater.shim.Scala;
import java.util.function.LongPredicate;
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
 * Whether the reference of a record is among chosen ones. Spark's `InSet` has an object for each element, and sorts and
 * prints all of them with every plan: for a million records a replay took longer than the run.
 */
final class AmongRecords extends OwnExpression {
    private final Expression reference;
    private final LongPredicate records;

    AmongRecords(Expression reference, LongPredicate records) {
        this.reference = reference;
        this.records = records;
    }

    public scala.collection.immutable.Seq<Expression> children() {
        return Scala.seq(reference);
    }

    public DataType dataType() {
        return DataTypes.BooleanType;
    }

    public int productArity() {
        return 2;
    }

    public Object productElement(int index) {
        return index == 0 ? reference : records;
    }

    public boolean equals(Object other) {
        return super.equals(other) && records.equals(((AmongRecords) other).records);
    }

    public int hashCode() {
        return super.hashCode();
    }

    public Object eval(InternalRow input) {
        Object value = reference.eval(input);
        return value != null && records.test(((Long) value).longValue());
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode value = reference.genCode(context);
        String chosen = context.addReferenceObj("chosen", records, "java.util.function.LongPredicate");
        String text = "boolean " + code.value() + " = !" + value.isNull() + " && " + chosen + ".test(" + value.value() + ");\n";
        Block all = value.code().$plus(new CodeBlock(Scala.seq(text), Scala.empty()));
        return new ExprCode(all, FalseLiteral$.MODULE$, code.value());
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> renewed) {
        return new AmongRecords(renewed.apply(0), records);
    }
}
