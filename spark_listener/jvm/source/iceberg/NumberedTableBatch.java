package headwater.source.iceberg;

import headwater.shim.Accessors;
import headwater.shim.DataFiles;
import java.lang.reflect.Field;
import java.util.List;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.HasPartitionKey;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/**
 * Iceberg's own plan of a scan, whose readers also return the file and position of each row. The reads and splits stay
 * the same. Two of these are equal if their plans are. Without that, exchanges could not be reused.
 */
final class NumberedTableBatch implements Batch {
    /** The field that holds what a task is to read, as Iceberg calls it in one release or another. */
    static final String[] FIELDS = new String[] {"projectionString", "expectedSchemaString"};

    private final Batch original;
    private final NumberedTableScan scan;

    NumberedTableBatch(Batch original, NumberedTableScan scan) {
        this.original = original;
        this.scan = scan;
    }

    public InputPartition[] planInputPartitions() {
        InputPartition[] parts = original.planInputPartitions();
        InputPartition[] result = new InputPartition[parts.length];
        String given = null;
        WidenedSchema widened = null;
        for (int i = 0; i < parts.length; i++) {
            String[] locations = new String[0];
            int[] ordinals = new int[0];
            String fault = null;
            try {
                List<Object> tasks = TableFiles.tasks(Accessors.get(parts[i], "taskGroup"));
                locations = locations(tasks);
                ordinals = TableFiles.ordinals(tasks, scan.files, scan.conf);
                Field field = field(parts[i].getClass());
                String text = (String) field.get(parts[i]);
                if (!text.equals(given)) { // all parts are to read the same
                    widened = WidenedSchema.of(text);
                    given = text;
                }
                field.set(parts[i], widened.text); // Iceberg has made the part for us, and nobody else has it
            } catch (Throwable unknown) { // the rows are read all the same, and have no references
                fault = String.valueOf(unknown);
            }
            int file = fault == null ? widened.file : -1;
            int position = fault == null ? widened.position : -1;
            result[i] = parts[i] instanceof HasPartitionKey
                ? new KeyedTablePart(parts[i], locations, ordinals, file, position, fault)
                : new TablePart(parts[i], locations, ordinals, file, position, fault);
        }
        return result;
    }

    /** Null where this release of Iceberg has another. */
    static Field field(Class<?> part) {
        for (String string : FIELDS) {
            Field field = Accessors.field(part, string);
            if (field != null && field.getType() == String.class) {
                return field;
            }
        }
        return null;
    }

    private static String[] locations(List<Object> tasks) {
        String[] result = new String[tasks.size()];
        for (int i = 0; i < result.length; i++) {
            result[i] = DataFiles.location(TableFiles.file(tasks.get(i)));
        }
        return result;
    }

    public PartitionReaderFactory createReaderFactory() {
        return new NumberedTableReaders(original.createReaderFactory(), scan);
    }

    public boolean equals(Object other) {
        return other instanceof NumberedTableBatch numberedTableBatch && numberedTableBatch.original.equals(original)
            && numberedTableBatch.scan.files == scan.files;
    }

    public int hashCode() {
        return original.hashCode();
    }

    public String toString() {
        return original.toString();
    }
}
