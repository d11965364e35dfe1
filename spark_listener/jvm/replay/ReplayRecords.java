package headwater.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.LongStream;

/** The records that a replay excludes, keeps and edits. Files are named as an answer names them: file:/a/b, s3://b/k. */
final class ReplayRecords {
    final Map<String, long[]> excluded = new HashMap<>(); // file -> long[]
    final Map<String, long[]> kept = new HashMap<>(); // file -> long[]
    final Set<String> whole = new HashSet<>(); // files of which all records are kept
    private final Set<String> restricted = new HashSet<>(); // places of datasets of which only records in `kept` and files in `whole` are read
    final Map<String, Map<Long, Map<String, String>>> edits = new HashMap<>(); // file -> Map: row (Long) -> Map: column -> value as text, or null
    final String partials; // folder of partial results, or null
    final String marks; // folder of the marks of lines in text, or null
    final String watch; // folder of the notes of each task on the records that it read, or null
    final boolean shows; // whether the values of kept records are written into that folder
    final List<String> changed = new ArrayList<>(); // places of the datasets that partial results are for

    /**
     * `text`: {"exclude": {file: [row]}, "keep": {file: [row]}, "files": [file], "restrict": [place], "edits": {file: {row: {column:
     * text}}}, "partials": {"folder", "changed"}, "marks": folder, "watch": folder, "shows": boolean}. A row may also be a range: [first row, row after the last].
     */
    ReplayRecords(String text) throws IOException {
        JsonNode root = new ObjectMapper().readTree(text);
        readRows(root.path("exclude"), excluded);
        readRows(root.path("keep"), kept);
        for (JsonNode file : root.path("files")) {
            whole.add(file.textValue());
        }
        for (JsonNode place : root.path("restrict")) {
            restricted.add(place.textValue());
        }
        marks = root.path("marks").textValue();
        watch = root.path("watch").textValue();
        shows = watch != null && root.path("shows").booleanValue();
        partials = root.path("partials").path("folder").textValue();
        for (JsonNode place : root.path("partials").path("changed")) {
            changed.add(place.textValue());
        }
        for (Map.Entry<String, JsonNode> file : root.path("edits").properties()) {
            Map<Long, Map<String, String>> rows = new HashMap<>();
            for (Map.Entry<String, JsonNode> row : file.getValue().properties()) {
                Map<String, String> values = new HashMap<>();
                for (Map.Entry<String, JsonNode> column : row.getValue().properties()) {
                    values.put(column.getKey(), column.getValue().textValue());
                }
                rows.put(Long.valueOf(row.getKey()), values);
            }
            edits.put(file.getKey(), rows);
        }
    }

    boolean isRestricted(String file) {
        for (int end = file.length(); end > 0; end = file.lastIndexOf('/', end - 1)) {
            if (restricted.contains(file.substring(0, end))) {
                return true;
            }
        }
        return false;
    }

    private static void readRows(JsonNode files, Map<String, long[]> rows) {
        for (Map.Entry<String, JsonNode> file : files.properties()) {
            LongStream.Builder values = LongStream.builder();
            for (JsonNode number : file.getValue()) {
                if (number.isArray()) {
                    LongStream.range(number.get(0).longValue(), number.get(1).longValue()).forEach(values);
                } else {
                    values.add(number.longValue());
                }
            }
            rows.put(file.getKey(), values.build().toArray());
        }
    }
}
