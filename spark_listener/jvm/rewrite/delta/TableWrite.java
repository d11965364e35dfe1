package headwater.rewrite.delta;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/**
 * Stands for a write to a table whose command runs a query of its own: the root of what is captured of it, above that query. It is looked at,
 * and never run.
 */
public final class TableWrite extends Project {
    public final TableCommit commit;
    public LogicalPlan command; // that the program gave; null until its query has ended

    public TableWrite(LogicalPlan query, TableCommit commit) {
        super(Scala.widened(query.output()), query);
        this.commit = commit;
    }

    public Project withNewChildInternal(LogicalPlan child) {
        TableWrite renewed = new TableWrite(child, commit);
        renewed.command = command;
        return renewed;
    }

    public String nodeName() {
        return command == null ? "TableWrite" : command.nodeName();
    }
}
