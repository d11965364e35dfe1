package headwater.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** The records that a replay excludes, keeps and edits. Files are named as an answer names them: file:/a/b, s3://b/k. */
final class ReplayRecords {
    final Map excluded = new HashMap(); // file -> long[]
    final Map kept = new HashMap(); // file -> long[]
    final List restricted = new ArrayList(); // places of datasets from which only `kept` is read
    final Map edits = new HashMap(); // file -> Map: row (Long) -> Map: column -> value as text, or null
    final String partials; // folder of partial results, or null
    final List changed = new ArrayList(); // places of the datasets that partial results are for

    /** `text`: {"exclude": {file: [row]}, "keep": {file: [row]}, "restrict": [place], "edits": {file: {row: {column: text}}}, "partials": {"folder", "changed"}}. */
    ReplayRecords(String text) throws IOException {
        JsonNode root = new ObjectMapper().readTree(text);
        readRows(root.path("exclude"), excluded);
        readRows(root.path("keep"), kept);
        for (int i = 0; i < root.path("restrict").size(); i++) {
            restricted.add(root.path("restrict").get(i).textValue());
        }
        partials = root.path("partials").path("folder").textValue();
        for (int i = 0; i < root.path("partials").path("changed").size(); i++) {
            changed.add(root.path("partials").path("changed").get(i).textValue());
        }
        for (Iterator files = root.path("edits").fields(); files.hasNext();) {
            Map.Entry file = (Map.Entry) files.next();
            Map rows = new HashMap();
            for (Iterator each = ((JsonNode) file.getValue()).fields(); each.hasNext();) {
                Map.Entry row = (Map.Entry) each.next();
                Map values = new HashMap();
                for (Iterator columns = ((JsonNode) row.getValue()).fields(); columns.hasNext();) {
                    Map.Entry column = (Map.Entry) columns.next();
                    values.put(column.getKey(), ((JsonNode) column.getValue()).textValue());
                }
                rows.put(Long.valueOf((String) row.getKey()), values);
            }
            edits.put(file.getKey(), rows);
        }
    }

    boolean isRestricted(String file) {
        for (int i = 0; i < restricted.size(); i++) {
            String place = (String) restricted.get(i);
            if (file.equals(place) || file.startsWith(place + "/")) {
                return true;
            }
        }
        return false;
    }

    private static void readRows(JsonNode files, Map rows) {
        for (Iterator each = files.fields(); each.hasNext();) {
            Map.Entry file = (Map.Entry) each.next();
            JsonNode numbers = (JsonNode) file.getValue();
            long[] values = new long[numbers.size()];
            for (int i = 0; i < values.length; i++) {
                values[i] = numbers.get(i).longValue();
            }
            rows.put(file.getKey(), values);
        }
    }
}
