package headwater.rewrite.scans.keyed;

import com.fasterxml.jackson.databind.ObjectMapper;
import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.shim.Parts;
import headwater.shim.Scala;
import headwater.tap.KeyRecorder;
import headwater.tap.RecordKey;
import headwater.tap.RowKey;
import headwater.tap.SegmentSpec;
import headwater.tap.TaskFault;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation;
import org.apache.spark.sql.sources.BaseRelation;

/**
 * Rows of a database table, by primary key, which PostgreSQL's catalog or the program's settings state. A key that is
 * one whole number is the position of its row. Any other key is recorded in addition. The key is always among the
 * columns that Spark reads, no matter how the read is split, filtered or pruned.
 */
final class JdbcRows extends KeyedSource {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String NAME = "JDBC";
    private static final int ORDINALS = 1 << 23;
    private static final int MOST_COLUMNS = 16; // of a key

    boolean is(BaseRelation relation) {
        return relation instanceof JDBCRelation;
    }

    public Keyed keyed(LogicalRelation scan, int operator, Rewriter rewriter) {
        Refused.untried(NAME, "tables by JDBC");
        JDBCOptions options = ((JDBCRelation) scan.relation()).jdbcOptions();
        if (scan.isStreaming()) {
            throw new Refused(NAME, "streams are not captured yet");
        }
        String table = Scala.orNull(options.parameters().get("dbtable"));
        String declared = DeclaredKeys.of(table);
        if (table == null || table.trim().startsWith("(")) {
            throw new Refused(NAME, "the result of a query has no primary key: its lineage is by dataset");
        }
        TableLook look = TableLook.of(options, table, rewriter.capture.tables);
        List<String> names = declared == null ? look.key() : Arrays.asList(declared.trim().split("\\s*\\+\\s*"));
        List<KeyColumn> columns = new ArrayList<>();
        for (String name : names) {
            Attribute column = column(scan, name);
            if (column == null) {
                throw new Refused(NAME, "its key " + name + " is none of the columns that are read");
            }
            columns.add(KeyColumn.of(column, look.types.get(name)));
        }
        if (columns.isEmpty() || columns.size() > MOST_COLUMNS) {
            throw new Refused(NAME, "its key has " + columns.size() + " columns; rows are followed by keys of up to " + MOST_COLUMNS);
        }
        KeyColumn first = columns.get(0);
        return columns.size() == 1 && first.kind().equals("int") ? byNumber(first, look, rewriter) : byKey(columns, look, scan, operator, rewriter);
    }

    private static Keyed byNumber(KeyColumn key, TableLook look, Rewriter rewriter) {
        String name = key.column().name();
        TaskFault met = new TaskFault(
            NAME, "the key " + name + " of a row is null, less than 0 or the greatest BIGINT, which no reference holds", rewriter.capture.reports);
        Expression reference = new RecordKey(Scala.seq(wide(key.column())), Long.MAX_VALUE - 1L, met);
        return new Keyed(reference, described("key", name, look));
    }

    private static Keyed byKey(List<KeyColumn> columns, TableLook look, LogicalRelation scan, int operator, Rewriter rewriter) {
        List<Expression> values = new ArrayList<>();
        List<List<?>> stated = new ArrayList<>();
        String[] recorded = new String[columns.size()];
        for (int i = 0; i < recorded.length; i++) {
            KeyColumn column = columns.get(i);
            recorded[i] = column.recorded();
            values.add(column.value());
            stated.add(Arrays.asList(new Object[] {column.column().name(), column.kind()}));
        }
        Boundary boundary = rewriter.boundary(SegmentSpec.KEYS, operator, scan);
        boundary.column("key", null, 0L);
        boundary.column("part", null, 0L);
        for (int i = 0; i < KeyRecorder.words(recorded); i++) {
            boundary.column("value", null, 0L);
        }
        TaskFault met = new TaskFault(
            NAME, "the key of a row is null, longer than 1,024 bytes, or a time before 1600 or after 9999, which no reference holds", rewriter.capture.reports);
        KeyRecorder recorder = new KeyRecorder(recorded, rewriter.capture.sink(boundary), met);
        try {
            return new Keyed(new RowKey(Scala.seq(values), recorder), described("keys", JSON.writeValueAsString(stated), look));
        } catch (java.io.IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static Map<String, Object> described(String option, String key, TableLook look) {
        Map<String, String> options = new LinkedHashMap<>();
        options.put(option, key);
        if (look.snapshot != null) {
            options.put("snapshot", look.snapshot);
            options.put("relation", look.relation);
        }
        Map<String, Number> file = new LinkedHashMap<>();
        file.put("ordinal", 0);
        file.put("ordinals", ORDINALS);
        file.put("length", 0L);
        file.put("modified", 0L);
        List<Map<String, Number>> files = new ArrayList<>();
        files.add(file);
        Map<String, Object> result = Parts.of("options", options, "files", files, "splits", new ArrayList<>());
        if (look.parts != null) {
            result.put("parts", look.parts);
        }
        return result;
    }
}
