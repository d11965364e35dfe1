package headwater.shim;

import org.apache.spark.sql.connector.write.BatchWrite;

/** A write of a connector with a single way to commit, as in Spark 4.0. */
public abstract class ForwardedBatch extends ForwardedWrite {
    protected ForwardedBatch(BatchWrite original) {
        super(original);
    }
}
