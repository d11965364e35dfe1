package headwater.write.iceberg;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.connector.write.DeltaWriter;

/** The same of a row-level command that writes what it deletes apart: a row that is deleted goes to no data file. */
final class TrackedDeltaWriter extends TrackedWriter implements DeltaWriter {
    private final DeltaWriter delta;

    TrackedDeltaWriter(DeltaWriter original, Configuration conf) {
        super(original, conf);
        this.delta = original;
    }

    public void delete(Object metadata, Object id) throws IOException {
        delta.delete(metadata, id);
    }

    public void update(Object metadata, Object id, Object row) throws IOException {
        delta.update(metadata, id, row);
        rows.row();
    }

    public void reinsert(Object metadata, Object row) throws IOException {
        delta.reinsert(metadata, row);
        rows.row();
    }

    public void insert(Object row) throws IOException {
        delta.insert(row);
        rows.row();
    }

    public void write(Object row) throws IOException {
        insert(row);
    }
}
