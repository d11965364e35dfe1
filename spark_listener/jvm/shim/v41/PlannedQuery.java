package headwater.shim;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;

/** A query of a plan, whose planning a subclass does in a way of its own. */
public abstract class PlannedQuery extends QueryExecution {
    protected PlannedQuery(SparkSession session, LogicalPlan plan) {
        super(
            (org.apache.spark.sql.classic.SparkSession) session, plan, QueryExecution.$lessinit$greater$default$3(),
            QueryExecution.$lessinit$greater$default$4(), QueryExecution.$lessinit$greater$default$5(),
            QueryExecution.$lessinit$greater$default$6());
    }
}
