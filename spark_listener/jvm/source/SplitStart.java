package headwater.source;

import java.io.IOException;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/** Counts the records of a file before a split. */
public interface SplitStart extends java.io.Serializable {
    long of(PartitionedFile split) throws IOException;
}
