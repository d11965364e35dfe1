package headwater.rewrite.scans.formats;

import headwater.source.NumberedParquet;
import headwater.source.SourceFiles;
import headwater.tap.Reports;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils;

/** Parquet: the row index in the file, which Spark's reader supplies. */
final class ParquetRecords extends RecordFormat {
    public boolean is(FileFormat format) {
        return format.getClass() == ParquetFileFormat.class;
    }

    /** A subclass may read in a way of its own; it writes rows in their order. */
    public boolean writes(FileFormat format) {
        return format instanceof ParquetFileFormat;
    }

    public void check(String scan, HadoopFsRelation relation, Map<String, String> options) {}

    public boolean countsWholeFiles() {
        return true;
    }

    public String column() {
        return NumberedParquet.ROW_INDEX;
    }

    public FileFormat numbered(HadoopFsRelation relation, SourceFiles files, Reports reports, boolean splits) {
        return new NumberedParquet(files.number, reports);
    }

    public void addSession(Map<String, Object> options, SessionOptions session) {
        if (session.parquetNames() != null) {
            options.put("columnsby", session.parquetNames());
        }
    }

    /** Spark asks for a column by its id only if the schema has ids: sessions of Delta always allow it. */
    public void addRelation(Map<String, Object> options, HadoopFsRelation relation) {
        String by = (String) options.get("columnsby");
        if (by == null) {
            return;
        }
        if (by.startsWith("id") && ParquetUtils.hasFieldIds(relation.schema())) {
            options.put("columnsby", "id");
        } else if (by.endsWith("case")) {
            options.put("columnsby", "case");
        } else {
            options.remove("columnsby");
        }
    }
}
