package headwater.rewrite.delta;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** The root of the captured plan of a command that writes a table by a query of its own. The node is only described, and never run. */
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
