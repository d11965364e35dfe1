package headwater.write.iceberg;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DeltaWriter;

/** A writer of a row-level command that keeps deletions in separate files. A deleted row goes to no data file. */
final class TrackedDeltaWriter extends TrackedWriter implements DeltaWriter<InternalRow> {
    private final DeltaWriter<InternalRow> delta;

    TrackedDeltaWriter(DeltaWriter<InternalRow> original, Configuration conf) {
        super(original, conf);
        this.delta = original;
    }

    public void delete(InternalRow metadata, InternalRow id) throws IOException {
        delta.delete(metadata, id);
    }

    public void update(InternalRow metadata, InternalRow id, InternalRow row) throws IOException {
        delta.update(metadata, id, row);
        rows.row();
    }

    public void reinsert(InternalRow metadata, InternalRow row) throws IOException {
        delta.reinsert(metadata, row);
        rows.row();
    }

    public void insert(InternalRow row) throws IOException {
        delta.insert(row);
        rows.row();
    }

    public void write(InternalRow row) throws IOException {
        insert(row);
    }
}
