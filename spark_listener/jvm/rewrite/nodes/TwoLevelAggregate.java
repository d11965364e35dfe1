package headwater.rewrite.nodes;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.aggregate.HashAggregateExec;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * The last step of an aggregate whose only functions are ours, with a hash map of two levels. Spark has such a map in
 * each step of an aggregate without functions, but only in the first step of an aggregate with functions. The map
 * decides the order of the groups.
 */
public final class TwoLevelAggregate extends HashAggregateExec {
    private static final String IN_FIRST_STEP_ALONE = "spark.sql.codegen.aggregate.map.twolevel.partialOnly";

    private transient SQLConf conf; // of the session, but for that setting

    public TwoLevelAggregate(
            Option<Seq<Expression>> distribution, boolean isStreaming, Option<Object> partitions, Seq<NamedExpression> keys, Seq<AggregateExpression> functions, Seq<Attribute> attributes, int offset, Seq<NamedExpression> results, SparkPlan child) {
        super(distribution, isStreaming, partitions, keys, functions, attributes, offset, results, child);
    }

    /** Return the step as Spark planned it, with that map. */
    public static TwoLevelAggregate of(HashAggregateExec step) {
        return new TwoLevelAggregate(
            step.requiredChildDistributionExpressions(), step.isStreaming(), step.numShufflePartitions(), step.groupingExpressions(),
            step.aggregateExpressions(), step.aggregateAttributes(), step.initialInputBufferOffset(), step.resultExpressions(), step.child());
    }

    public SQLConf conf() {
        SQLConf own = super.conf();
        try {
            conf = conf == null ? changed(own) : conf;
            return conf;
        } catch (Throwable fault) { // the rows come in another order then, and no query fails
            return own;
        }
    }

    private static SQLConf changed(SQLConf own) {
        SQLConf result = own.clone();
        result.setConfString(IN_FIRST_STEP_ALONE, "false");
        return result;
    }

    public String nodeName() {
        return "HashAggregate";
    }

    public HashAggregateExec withNewChildInternal(SparkPlan child) {
        return new TwoLevelAggregate(
            requiredChildDistributionExpressions(), isStreaming(), numShufflePartitions(), groupingExpressions(), aggregateExpressions(),
            aggregateAttributes(), initialInputBufferOffset(), resultExpressions(), child);
    }
}
