package headwater.listen;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/** A streaming query has come to the end of a batch: how far each of its sources was read. */
record StreamProgress(StreamingQueryProgress progress) implements Described {
    public Map<String, Object> describe() {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("event", "stream_progress");
        result.put("run", progress.runId().toString());
        result.put("batch", progress.batchId());
        result.put("sink", progress.sink() == null ? null : progress.sink().description());
        result.put("written", progress.sink() == null ? null : Long.valueOf(progress.sink().numOutputRows()));
        List<Map<String, Object>> sources = new ArrayList<>();
        SourceProgress[] each = progress.sources();
        for (SourceProgress sourceProgress : each) {
            Map<String, Object> source = new LinkedHashMap<>();
            source.put("source", sourceProgress.description());
            source.put("offset", sourceProgress.endOffset());
            source.put("rows", sourceProgress.numInputRows());
            sources.add(source);
        }
        result.put("sources", sources);
        return result;
    }
}
