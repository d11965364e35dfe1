package headwater.source;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Some of the files of another index, each with a label as one more partition value. A label is a constant, and costs
 * nothing for each row. The files are listed once, by the constructor. An index equals only itself, because two of them
 * over the same files may select different records.
 */
public final class PlacedFiles implements FileIndex {
    private final FileIndex original;
    private final StructType schema; // its last column is the label
    private final List<PartitionDirectory> directories = new ArrayList<>(); // one a file
    private long bytes;

    /** `labels` maps the path of a file to its label. Files without a label are left out. A label without a file is an error. */
    public PlacedFiles(FileIndex original, StructType schema, Map<?, String> labels) {
        this.original = original;
        this.schema = schema;
        Set<Object> missing = new HashSet<>(labels.keySet());
        for (PartitionDirectory directory : Scala.list(original.listFiles(Scala.empty(), Scala.empty()))) {
            for (FileStatusWithMetadata file : Scala.list(directory.files())) {
                String label = labels.get(file.getPath().toString());
                if (label != null) {
                    missing.remove(file.getPath().toString());
                    directories.add(new PartitionDirectory(withLabel(directory.values(), label), Scala.seq(file)));
                    bytes += file.getLen();
                }
            }
        }
        if (!missing.isEmpty()) {
            throw new IllegalStateException("Spark lists no file " + missing.iterator().next() + " any more.");
        }
    }

    private InternalRow withLabel(InternalRow values, String label) {
        int width = schema.length() - 1;
        Object[] all = new Object[width + 1];
        for (int i = 0; i < width; i++) {
            all[i] = values.isNullAt(i) ? null : values.get(i, schema.apply(i).dataType());
        }
        all[width] = UTF8String.fromString(label);
        return new GenericInternalRow(all);
    }

    /** Spark does not look at the partition filters again: they are decided here. */
    public Seq<PartitionDirectory> listFiles(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
        List<Expression> filters = Scala.list(partitionFilters);
        List<PartitionDirectory> found = new ArrayList<>(directories);
        for (Expression expression : filters) {
            BasePredicate filter = Predicate$.MODULE$.createInterpreted(new Bound().apply(expression));
            List<PartitionDirectory> kept = new ArrayList<>();
            for (PartitionDirectory directory : found) {
                if (filter.eval(directory.values())) {
                    kept.add(directory);
                }
            }
            found = kept;
        }
        return Scala.seq(found);
    }

    public Seq<Path> rootPaths() {
        return original.rootPaths();
    }

    public String[] inputFiles() {
        String[] paths = new String[directories.size()];
        for (int i = 0; i < paths.length; i++) {
            FileStatusWithMetadata file = directories.get(i).files().apply(0);
            paths[i] = file.getPath().toUri().toString();
        }
        return paths;
    }

    public void refresh() {}

    public long sizeInBytes() {
        return bytes;
    }

    public StructType partitionSchema() {
        return schema;
    }

    public Option<Object> metadataOpsTimeNs() {
        return original.metadataOpsTimeNs();
    }

    public String toString() {
        return "PlacedFiles(" + original + ")";
    }

    /** Columns by their place among the partition values, as Spark finds them: by their names. */
    private final class Bound extends scala.runtime.AbstractFunction1<Expression, Expression> {
        public Expression apply(Expression expression) {
            if (!(expression instanceof AttributeReference column)) {
                return (Expression) expression.mapChildren(this);
            }
            return new BoundReference(schema.fieldIndex(column.name()), column.dataType(), true);
        }
    }
}
