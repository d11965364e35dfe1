package headwater.rewrite.nodes;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.execution.columnar.CachedRDDBuilder;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import scala.collection.immutable.Seq;

/**
 * Cached rows with references. Its reported size does not include the references, because the size decides whether a
 * join with the cache is broadcast.
 */
public final class HiddenCache extends InMemoryRelation {
    public HiddenCache(Seq<Attribute> output, CachedRDDBuilder builder, Seq<SortOrder> ordering) {
        super(output, builder, ordering);
    }

    public static HiddenCache of(InMemoryRelation relation, Seq<Attribute> output) {
        InMemoryRelation shown = relation.withOutput(output); // which knows how the ordering follows
        HiddenCache result = new HiddenCache(shown.output(), shown.cacheBuilder(), shown.outputOrdering());
        result.statsOfPlanToCache_$eq(shown.statsOfPlanToCache());
        return result;
    }

    public Statistics computeStats() {
        Statistics counted = super.computeStats();
        return cacheBuilder().isCachedColumnBuffersLoaded() ? VisibleStatistics.without(counted, 1L) : counted;
    }

    public InMemoryRelation withOutput(Seq<Attribute> output) {
        InMemoryRelation plain = new InMemoryRelation(output(), cacheBuilder(), outputOrdering());
        plain.statsOfPlanToCache_$eq(statsOfPlanToCache());
        return of(plain, output);
    }

    public LogicalPlan clone() {
        HiddenCache result = new HiddenCache(output(), cacheBuilder(), outputOrdering());
        result.statsOfPlanToCache_$eq(statsOfPlanToCache());
        return result;
    }

    /** Otherwise Spark would consider it equal to the original relation, and keep the original. */
    public boolean canEqual(Object other) {
        return other instanceof HiddenCache;
    }

    public boolean equals(Object other) {
        return other instanceof HiddenCache && super.equals(other);
    }

    public int hashCode() {
        return super.hashCode();
    }

    public String nodeName() {
        return "InMemoryRelation";
    }
}
