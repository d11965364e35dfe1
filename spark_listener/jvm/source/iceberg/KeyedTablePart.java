package headwater.source.iceberg;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.HasPartitionKey;
import org.apache.spark.sql.connector.read.InputPartition;

/** A part whose rows are all of one partition of the table: Spark may join by that without a shuffle. */
final class KeyedTablePart extends TablePart implements HasPartitionKey {
    KeyedTablePart(InputPartition original, String[] locations, int[] ordinals, int file, int position, String fault) {
        super(original, locations, ordinals, file, position, fault);
    }

    public InternalRow partitionKey() {
        return ((HasPartitionKey) original).partitionKey();
    }
}
