package headwater.source;

import java.io.IOException;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/** How many records of a file stand before a split of it. */
public interface SplitStart extends java.io.Serializable {
    long of(PartitionedFile split) throws IOException;
}
