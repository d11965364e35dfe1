package headwater.shim;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DirectShufflePartitionID;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.adaptive.AdaptiveExecutionContext;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.python.EvaluatePython;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.Seq;

/** Code that differs between lines of Spark, here for 4.1. */
public final class Differences {
    private Differences() {}

    /** A reference to a common table expression with another output. */
    public static CTERelationRef reference(CTERelationRef of, Seq<Attribute> output) {
        return of.copy(
            of.cteId(), of._resolved(), output, of.isStreaming(), of.statsOpt(), of.recursive(), of.maxRows(), of.isUnlimitedRecursion());
    }

    /** The attributes of the outer row that a subquery reads. */
    public static List<Expression> outerAttributes(SubqueryExpression of) {
        return Scala.list(of.getOuterAttrs());
    }

    public static boolean supportsRead(FileFormat format, DataType type) {
        return format.supportReadDataType(type);
    }

    /** A value as Spark gives it to Python. */
    public static Object toPython(Object value, DataType type, boolean bytes) {
        return EvaluatePython.toJava(value, type, bytes);
    }

    /** Whether a session gives binary values to Python as `bytes`. */
    public static boolean givesBytes(SparkSession session) {
        return session.sessionState().conf().pysparkBinaryAsBytes();
    }

    /** For each partition the number that makes `byNumber` send a row there. Null if it is the partition's own number. */
    public static int[] numbersOfPartitions(int partitions) {
        return null;
    }

    /** The expression to repartition by, so that each row goes to the partition with its number. */
    public static Expression byNumber(Expression number) {
        return new DirectShufflePartitionID(number);
    }

    /** Whether a scan with these options, whose names are in lower case, reads XML by Spark's older parser, which finds other records. */
    public static boolean readsXmlByOlderParser(Map<String, String> options) {
        Object option = options.get("uselegacyxmlparser");
        return option == null ? SQLConf.get().legacyXMLParserEnabled() : "true".equalsIgnoreCase((String) option);
    }

    /** Why records of a connector's tables or topics are not followed on this Spark; null: they are. */
    public static String untried(String connector) {
        return null;
    }

    /** Plans a plan and prepares it, as Spark does before it runs it. Nothing runs. */
    public static void prepare(LogicalPlan plan, AdaptiveExecutionContext context) {
        QueryExecution.prepareExecutedPlan(plan, context);
    }
}
