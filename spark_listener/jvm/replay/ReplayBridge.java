package headwater.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import headwater.shim.Scala;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;

/** What Python holds of a replayed application: installs the rule in its sessions. */
public final class ReplayBridge {
    private final ReplayRule rule;

    /** `excluded` is a JSON object of record numbers by file path, as {"file:/a/b.csv": [1009]}. */
    public ReplayBridge(String shadow, String excluded) throws Exception {
        Map rows = new HashMap();
        Iterator files = new ObjectMapper().readTree(excluded).fields();
        while (files.hasNext()) {
            Map.Entry file = (Map.Entry) files.next();
            JsonNode numbers = (JsonNode) file.getValue();
            long[] values = new long[numbers.size()];
            for (int i = 0; i < values.length; i++) {
                values[i] = ((JsonNode) numbers.get(i)).longValue();
            }
            rows.put(file.getKey(), values);
        }
        rule = new ReplayRule(shadow, rows);
    }

    /** Replays queries of this session too. One that was cloned from an adopted session has the rule already. */
    public void adopt(SparkSession session) {
        List rules = Scala.list(session.experimental().extraOptimizations());
        for (int i = 0; i < rules.size(); i++) {
            if (rules.get(i) instanceof ReplayRule) {
                return;
            }
        }
        rules.add(rule);
        session.experimental().extraOptimizations_$eq(Scala.seq(rules));
    }
}
