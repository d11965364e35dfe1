package headwater.roundrobin;

import headwater.shim.Differences;
import headwater.shim.OwnExpression;
import headwater.shim.Scala;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.random.XORShiftRandom;

/**
 * The number of the next row's partition, in the form that `Differences.byNumber` takes. Rows go to the partitions in
 * turn, and each task begins at the same partition as in Spark. The interface `Unevaluable` prevents that the optimizer
 * evaluates the expression over a local relation outside of a task.
 */
public final class RoundRobinPartition extends OwnExpression implements Unevaluable {
    private final int partitions;
    private final int[] numbers; // null: of the partitions themselves
    private transient boolean begun; // of the interpreted form; each task has its own copy of the expression
    private transient int last;

    public RoundRobinPartition(int partitions) {
        this.partitions = partitions;
        numbers = Differences.numbersOfPartitions(partitions);
    }

    public scala.collection.immutable.Seq<Expression> children() {
        return Scala.empty();
    }

    public DataType dataType() {
        return DataTypes.IntegerType;
    }

    public boolean deterministic() {
        return false;
    }

    public Object productElement(int index) {
        return partitions;
    }

    public Object eval(InternalRow input) {
        if (!begun) {
            begun = true;
            last = new XORShiftRandom(TaskContext.getPartitionId()).nextInt(partitions);
        }
        last = (last + 1) % partitions;
        return numbers == null ? last : numbers[last];
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        String dealt = context.addMutableState("int", "dealt", context.addMutableState$default$3(), true, true);
        context.addPartitionInitializationStatement(
            dealt + " = new org.apache.spark.util.random.XORShiftRandom((long) org.apache.spark.TaskContext.getPartitionId()).nextInt("
            + partitions + ");");
        String result = context.freshName("dealtPartition");
        String next = dealt + " = (" + dealt + " + 1) % " + partitions;
        if (numbers != null) {
            next = context.addReferenceObj("numbers", numbers, "int[]") + "[" + next + "]";
        }
        String text = "int " + result + " = " + next + ";\n";
        return new ExprCode(
            new CodeBlock(Scala.seq(text), Scala.empty()), FalseLiteral$.MODULE$, JavaCode$.MODULE$.variable(result, DataTypes.IntegerType));
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> children) {
        return new RoundRobinPartition(partitions);
    }
}
