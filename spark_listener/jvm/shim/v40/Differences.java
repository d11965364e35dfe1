package headwater.shim;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Exists;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LateralSubquery;
import org.apache.spark.sql.catalyst.expressions.ListQuery;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.adaptive.AdaptiveExecutionContext;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.python.EvaluatePython;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;
import scala.collection.immutable.Seq;

/** Code that differs between lines of Spark, here for 4.0. */
public final class Differences {
    private static final int SEED = 42; // for Spark's hash in repartitioning

    private Differences() {}

    /** A reference to a common table expression with another output. */
    public static CTERelationRef reference(CTERelationRef of, Seq<Attribute> output) {
        return of.copy(
            of.cteId(), of._resolved(), output, of.isStreaming(), of.statsOpt(), of.recursive());
    }

    /** The attributes of the outer row that a subquery reads. For an unknown subquery, its join conditions are included. */
    public static List<Expression> outerAttributes(SubqueryExpression of) {
        if (of instanceof ScalarSubquery) {
            return Scala.list(((ScalarSubquery) of).outerAttrs());
        }
        if (of instanceof Exists) {
            return Scala.list(((Exists) of).outerAttrs());
        }
        if (of instanceof ListQuery) {
            return Scala.list(((ListQuery) of).outerAttrs());
        }
        return of instanceof LateralSubquery ? Scala.list(((LateralSubquery) of).outerAttrs()) : Scala.list(of.children());
    }

    public static boolean supportsRead(FileFormat format, DataType type) {
        return format.supportDataType(type);
    }

    /** A value as Spark gives it to Python. */
    public static Object toPython(Object value, DataType type, boolean bytes) {
        return EvaluatePython.toJava(value, type);
    }

    /** Whether a session gives binary values to Python as `bytes`: a setting of later versions. */
    public static boolean givesBytes(SparkSession session) {
        return false;
    }

    /**
     * For each partition the number that makes `byNumber` send a row there. This Spark repartitions by hash only, so
     * the result is the first number whose hash leads to the partition.
     */
    public static int[] numbersOfPartitions(int partitions) {
        int[] numbers = new int[partitions];
        boolean[] found = new boolean[partitions];
        int left = partitions;
        for (int number = 0; left > 0; number++) {
            int partition = Math.floorMod(Murmur3_x86_32.hashInt(number, SEED), partitions);
            if (!found[partition]) {
                found[partition] = true;
                numbers[partition] = number;
                left--;
            }
        }
        return numbers;
    }

    /** The expression to repartition by, so that each row goes to the partition with its number. */
    public static Expression byNumber(Expression number) {
        return number;
    }

    /** Whether a scan with these options reads XML by Spark's older parser, which finds other records: this Spark has no other. */
    public static boolean readsXmlByOlderParser(Map<String, String> options) {
        return true;
    }

    /** Why records of a connector's tables or topics are not followed on this Spark; null: they are. */
    public static String untried(String connector) {
        return "records of " + connector + " are followed on Spark 4.1, and not on 4.0 yet: its lineage is by dataset";
    }

    /** Plans a plan and prepares it, as Spark does before it runs it. Nothing runs. */
    public static void prepare(LogicalPlan plan, AdaptiveExecutionContext context) {
        QueryExecution.prepareExecutedPlan(context.session(), plan, context);
    }
}
