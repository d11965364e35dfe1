package headwater.rewrite.scans;

import headwater.rewrite.core.Capture;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Changes the records that scans of files return, in a JVM whose program is replayed. The numbered scan of a capture
 * contains the change, so that references are still those of the unchanged files.
 */
public interface RecordChange {
    /** The numbered scan with changed records for a capture. Null if no record of the scan changes. Throws Refused like ScanCheck. */
    NumberedScan numbered(LogicalRelation scan, HadoopFsRelation relation, Capture capture);

    /** The change of this JVM. Null if there is none. */
    static RecordChange ofJvm() {
        return RecordChanges.change;
    }

    /** Set the change of this JVM. To be called before its first query. */
    static void set(RecordChange change) {
        RecordChanges.change = change;
    }
}
