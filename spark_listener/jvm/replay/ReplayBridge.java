package headwater.replay;

import headwater.rewrite.scans.RecordChange;
import headwater.shim.Scala;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;

/** The entry point of Python for a replayed application. This class installs the rule in the sessions. */
public final class ReplayBridge {
    private final ReplayRule rule;

    /** `records` is the JSON object that `ReplayRecords` reads. */
    public ReplayBridge(String shadow, String records) throws Exception {
        rule = new ReplayRule(shadow, new ReplayRecords(records));
        RecordChange.set(rule);
    }

    /** Replays queries of this session too. One that was cloned from an adopted session has the rule already. */
    public void adopt(SparkSession session) {
        List<Rule<LogicalPlan>> rules = Scala.list(session.experimental().extraOptimizations());
        for (Rule<LogicalPlan> each : rules) {
            if (each instanceof ReplayRule) {
                return;
            }
        }
        rules.add(rule);
        session.experimental().extraOptimizations_$eq(Scala.seq(rules));
    }
}
