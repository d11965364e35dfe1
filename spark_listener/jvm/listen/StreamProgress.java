package headwater.listen;

import headwater.shim.Parts;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/** A streaming query has come to the end of a batch: how far each of its sources was read. */
record StreamProgress(StreamingQueryProgress progress) implements Described {
    public Map<String, Object> describe() {
        Map<String, Object> result = Parts.of(
            "event", "stream_progress", "run", progress.runId().toString(), "batch", progress.batchId(),
            "sink", progress.sink() == null ? null : progress.sink().description(),
            "written", progress.sink() == null ? null : Long.valueOf(progress.sink().numOutputRows()));
        List<Map<String, Object>> sources = new ArrayList<>();
        SourceProgress[] each = progress.sources();
        for (SourceProgress sourceProgress : each) {
            Map<String, Object> source = Parts.of(
                "source", sourceProgress.description(), "offset", sourceProgress.endOffset(),
                "rows", sourceProgress.numInputRows());
            sources.add(source);
        }
        result.put("sources", sources);
        return result;
    }
}
