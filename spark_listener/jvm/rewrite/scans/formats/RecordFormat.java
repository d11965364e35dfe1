package headwater.rewrite.scans.formats;

import headwater.rewrite.core.Refused;
import headwater.source.RankedFormat;
import headwater.source.SourceFiles;
import headwater.tap.Reports;
import headwater.write.RowCheck;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * A file format: how its records are numbered, and the reader's options that prevent it. Section 1 of
 * docs/reference/capture-format.md defines the numbers. The service reads the format with a module in
 * graph/files/formats.
 */
public abstract class RecordFormat {
    /** Whether this is Spark's own class of the format: another's subclass may read otherwise. */
    public abstract boolean is(FileFormat format);

    /**
     * Throws Refused, naming the scan, where the options or the files are such that records have no numbers. Options
     * have lower-case names.
     */
    public abstract void check(String scan, HadoopFsRelation relation, Map<String, String> options);

    /** Whether records are numbered through the whole file, however it is split; else through each split. */
    public boolean countsWholeFiles() {
        return false;
    }

    /** Whether records are numbered in queries that read the hidden column `_metadata`, too. */
    public boolean readsMetadata() {
        return false;
    }

    /** The column that `numbered` adds: a reference (RankedFormat.COLUMN), or the number of the record in its file. */
    public String column() {
        return RankedFormat.COLUMN;
    }

    /**
     * The format with a column more. `reports` may be null: nobody asks. Without `splits` a file that is numbered by
     * split is read by one task.
     */
    public FileFormat numbered(HadoopFsRelation relation, SourceFiles files, Reports reports, boolean splits) {
        return new RankedFormat(relation.fileFormat(), files, reports, splits);
    }

    /** The column that the file index adds for the file's ordinal, where `column` is the number of the record in its file. */
    public String ordinal() {
        return "_headwater_ordinal";
    }

    /**
     * The filter for records in the scan's files that are not rows of its table. Null if all are. Called once for each
     * numbered scan.
     */
    public DeletionMarks marks(LogicalRelation scan, HadoopFsRelation relation) {
        return null;
    }

    /** Whether Spark would push filters into the reader, so that records which the filters skip cannot fail the query. */
    public boolean pushesFilters() {
        return false;
    }

    /** Adds what the reader takes from the session to the options that a manifest has. */
    public void addSession(Map<String, Object> options, SessionOptions session) {}

    /** Adds what the relation alone knows of how its files are read to the options that a manifest has. */
    public void addRelation(Map<String, Object> options, HadoopFsRelation relation) {}

    public boolean writes(FileFormat format) {
        return is(format);
    }

    /** A check of each row written in this format, for rows that do not become one record of the file. */
    public RowCheck rowCheck(InsertIntoHadoopFsRelationCommand command) {
        return new RowCheck();
    }

    static boolean isOn(Map<String, String> options, String name) {
        return "true".equalsIgnoreCase(options.get(name));
    }

    static void checkMode(String scan, Map<String, String> options) {
        if ("dropmalformed".equalsIgnoreCase(options.get("mode"))) {
            throw new Refused(scan, "with mode DROPMALFORMED the records that count depend on the columns that are read");
        }
    }
}
