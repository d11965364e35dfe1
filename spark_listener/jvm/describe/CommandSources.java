package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Sources of commands that the plan does not show, and plans that show tables although no row is read. */
public final class CommandSources {
    private static final String COMMANDS = "org.apache.spark.sql.execution.command.";
    private static final String LOGICAL = "org.apache.spark.sql.catalyst.plans.logical.";

    private CommandSources() {}

    /** The sources of a command, if they replace the sources of its plan. Null if the plan shows them. */
    public static List<Map<String, Object>> of(LogicalPlan command, Configuration conf) {
        List<Map<String, Object>> loaded = LoadedFiles.sources(command, conf);
        if (loaded != null) {
            return loaded;
        }
        List<Map<String, Object>> cloned = DeltaTables.sources(command);
        if (cloned != null) {
            return cloned;
        }
        if (command.getClass().getName().equals(COMMANDS + "AnalyzeColumnCommand")) { // others count by queries of their own
            Map<String, Object> table = Tables.lookup((TableIdentifier) Accessors.get(command, "tableIdent"));
            List<Map<String, Object>> result = new ArrayList<>();
            if (table != null) {
                table.put("source", 0);
                result.add(table);
            }
            return result;
        }
        return command instanceof Command && isIdle(command) ? new ArrayList<>() : null;
    }

    /** Whether a command names tables, and reads none of them: COMMENT ON, SHOW CREATE, UNCACHE. */
    private static boolean isIdle(LogicalPlan command) {
        String name = command.getClass().getName();
        if (!name.startsWith(LOGICAL) || name.equals(LOGICAL + "UncacheTable")) {
            return name.startsWith(LOGICAL);
        }
        List<LogicalPlan> below = Scala.list(command.children());
        for (LogicalPlan plan : below) {
            if (!(plan instanceof ResolvedTable)) {
                return false;
            }
        }
        return !below.isEmpty();
    }
}
