package headwater.rewrite.scans.keyed;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Refused;
import headwater.shim.Scala;
import headwater.tap.RecordKey;
import headwater.tap.TaskFault;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Rows of a table of a database, by their primary key: as PostgreSQL's catalog states it, else as the program's settings do. The position of a
 * row is its key, one whole number; however Spark splits, filters or prunes the read, the key is among the columns that it reads.
 */
final class JdbcRows extends KeyedSource {
    private static final String NAME = "JDBC";
    private static final int ORDINALS = 1 << 23;

    boolean is(BaseRelation relation) {
        return relation instanceof JDBCRelation;
    }

    public Keyed keyed(LogicalRelation scan, Capture capture) {
        JDBCOptions options = ((JDBCRelation) scan.relation()).jdbcOptions();
        if (scan.isStreaming()) {
            throw new Refused(NAME, "streams are not captured yet");
        }
        String table = (String) Scala.orNull(options.parameters().get("dbtable"));
        String declared = DeclaredKeys.of(table);
        if (table == null || table.trim().startsWith("(")) {
            throw new Refused(NAME, "the result of a query has no primary key: its lineage is by dataset");
        }
        TableLook look = TableLook.of(options, table, capture.looks);
        String key = declared == null ? look.key() : declared;
        Attribute column = column(scan, key);
        if (column == null) {
            throw new Refused(NAME, "its key " + key + " is none of the columns that are read");
        }
        DataType type = column.dataType();
        if (type != DataTypes.LongType && type != DataTypes.IntegerType && type != DataTypes.ShortType) {
            throw new Refused(NAME, "its key " + key + " is of the type " + type.simpleString() + "; rows are followed by keys that are whole numbers");
        }
        TaskFault met = new TaskFault(NAME, "the key " + key + " of a row is null, less than 0 or the greatest BIGINT, which no reference holds", capture.reports);
        Expression reference = new RecordKey(Scala.seq((Object) wide(column)), Long.valueOf(Long.MAX_VALUE - 1L), met);
        return new Keyed(reference, described(key, look));
    }

    private static Map described(String key, TableLook look) {
        Map options = new LinkedHashMap();
        options.put("key", key);
        if (look.snapshot != null) {
            options.put("snapshot", look.snapshot);
            options.put("relation", look.relation);
        }
        Map file = new LinkedHashMap();
        file.put("ordinal", Integer.valueOf(0));
        file.put("ordinals", Integer.valueOf(ORDINALS));
        file.put("length", Long.valueOf(0L));
        file.put("modified", Long.valueOf(0L));
        List files = new ArrayList();
        files.add(file);
        Map result = new LinkedHashMap();
        result.put("options", options);
        result.put("files", files);
        result.put("splits", new ArrayList());
        if (look.parts != null) {
            result.put("parts", look.parts);
        }
        return result;
    }
}
