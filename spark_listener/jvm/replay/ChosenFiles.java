package headwater.replay;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Some files of an index whose last partition column is the ordinal of the file. A filter on the ordinal would not do:
 * Spark prunes by partition columns that the folders have, and does not look at the rows again.
 */
final class ChosenFiles implements FileIndex {
    private final FileIndex all;
    private final Set<Integer> ordinals;

    ChosenFiles(FileIndex all, Set<Integer> ordinals) {
        this.all = all;
        this.ordinals = ordinals;
    }

    public Seq<PartitionDirectory> listFiles(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
        List<PartitionDirectory> chosen = new ArrayList<>();
        List<PartitionDirectory> directories = Scala.list(all.listFiles(partitionFilters, dataFilters));
        int last = all.partitionSchema().length() - 1;
        for (PartitionDirectory directory : directories) {
            InternalRow values = directory.values();
            if (ordinals.contains(values.getInt(last))) {
                chosen.add(directory);
            }
        }
        return Scala.seq(chosen);
    }

    public Seq<Path> rootPaths() {
        return all.rootPaths();
    }

    public String[] inputFiles() {
        return all.inputFiles();
    }

    public void refresh() {
        all.refresh();
    }

    public long sizeInBytes() {
        int files = Math.max(1, all.inputFiles().length);
        return all.sizeInBytes() / files * Math.min(files, Math.max(1, ordinals.size())); // Spark plans joins by it
    }

    public StructType partitionSchema() {
        return all.partitionSchema();
    }

    public Option<Object> metadataOpsTimeNs() {
        return all.metadataOpsTimeNs();
    }

    public boolean equals(Object other) {
        return other instanceof ChosenFiles chosenFiles && chosenFiles.all.equals(all) && chosenFiles.ordinals.equals(ordinals);
    }

    public int hashCode() {
        return all.hashCode() * 31 + ordinals.hashCode();
    }

    public String toString() {
        return all.toString();
    }
}
