package headwater.listen;

import java.util.LinkedHashMap;
import java.util.Map;

/** A Spark job outside of SQL that ran while an RDD was saved, has ended: its stages. */
final class RddJob implements Described {
    private final String save;
    private final StageLog stages; // null: they are not known

    RddJob(String save, StageLog stages) {
        this.save = save;
        this.stages = stages;
    }

    public Map describe() {
        Map result = new LinkedHashMap();
        result.put("event", "rdd_job");
        result.put("save", save);
        result.put("stages", stages == null ? null : stages.describe());
        return result;
    }
}
