package headwater.source;

import headwater.shim.ForwardedReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A scan of a data source written in Python, with one more column for the reference of each row: the number of its
 * partition, and its rank among the partition's rows. The source is asked for its partitions as often, and at the same
 * times, as without this class.
 */
public final class NumberedPythonScan implements Scan {
    private static final String NAME = "org.apache.spark.sql.execution.datasources.v2.python.PythonScan";
    private static final String COLUMN = "_headwater_row";
    private static final int MOST = 1 << 23; // partitions, so that references stay unique
    private static final long NONE = Long.MIN_VALUE;

    private final Scan original;
    private final MemoryRelation rows;
    private final List<Map<String, Object>> problems; // of the capture
    private final Map<String, Object> tooMany; // what is added to them where there are more partitions
    private Batch batch; // one for all copies of a plan's node: in Spark 4.0 each batch asks the source for its partitions anew

    public NumberedPythonScan(Scan original, MemoryRelation rows, List<Map<String, Object>> problems, Map<String, Object> tooMany) {
        this.original = original;
        this.rows = rows;
        this.problems = problems;
        this.tooMany = tooMany;
    }

    public static boolean is(Scan scan) {
        return scan.getClass().getName().equals(NAME);
    }

    public StructType readSchema() {
        return original.readSchema().add(COLUMN, DataTypes.LongType, false);
    }

    public String description() {
        return original.description();
    }

    public Batch toBatch() {
        if (batch == null) {
            batch = original.toBatch();
        }
        return new Parts(batch, this);
    }

    public CustomMetric[] supportedCustomMetrics() {
        return original.supportedCustomMetrics();
    }

    public CustomTaskMetric[] reportDriverMetrics() {
        return original.reportDriverMetrics();
    }

    public String toString() {
        return original.toString();
    }

    private static final class Parts implements Batch {
        private final Batch original;
        private final NumberedPythonScan scan;

        Parts(Batch original, NumberedPythonScan scan) {
            this.original = original;
            this.scan = scan;
        }

        public InputPartition[] planInputPartitions() {
            InputPartition[] parts = original.planInputPartitions();
            scan.rows.partitions(Math.min(parts.length, MOST));
            if (parts.length > MOST && !scan.problems.contains(scan.tooMany)) {
                scan.problems.add(scan.tooMany);
            }
            List<NumberedPythonScan.Part> result = new ArrayList<>();
            for (int i = 0; i < parts.length; i++) {
                result.add(new Part(parts[i], i < MOST ? (long) i << 40 : NONE));
            }
            return result.toArray(new InputPartition[0]);
        }

        public PartitionReaderFactory createReaderFactory() {
            return new Readers(original.createReaderFactory());
        }
    }

    private static final class Part implements InputPartition {
        private final InputPartition original;
        private final long first; // the reference of its first row

        Part(InputPartition original, long first) {
            this.original = original;
            this.first = first;
        }

        public String[] preferredLocations() {
            return original.preferredLocations();
        }
    }

    /** Rows are read one by one, as these sources give them. */
    private static final class Readers implements PartitionReaderFactory {
        private final PartitionReaderFactory original;

        Readers(PartitionReaderFactory original) {
            this.original = original;
        }

        public PartitionReader<InternalRow> createReader(InputPartition part) {
            return new Rows(original.createReader(((Part) part).original), ((Part) part).first);
        }
    }

    private static final class Rows extends ForwardedReader<InternalRow> {
        private final GenericInternalRow reference = new GenericInternalRow(1);
        private final JoinedRow row = new JoinedRow();
        private long next;

        Rows(PartitionReader<InternalRow> original, long first) {
            super(original);
            this.next = first;
        }

        public boolean next() throws java.io.IOException {
            boolean more = super.next();
            if (more) {
                reference.update(0, next);
                next += next == NONE ? 0L : 1L;
            }
            return more;
        }

        public InternalRow get() {
            return row.apply(original.get(), reference);
        }
    }
}
