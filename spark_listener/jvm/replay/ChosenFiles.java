package headwater.replay;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Some files of an index whose last partition column is the ordinal of the file. A filter on the ordinal would not do: Spark prunes by
 * partition columns that the folders have, and does not look at the rows again.
 */
final class ChosenFiles implements FileIndex {
    private final FileIndex all;
    private final Set ordinals; // Integer

    ChosenFiles(FileIndex all, Set ordinals) {
        this.all = all;
        this.ordinals = ordinals;
    }

    public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
        List chosen = new ArrayList();
        List directories = Scala.list(all.listFiles(partitionFilters, dataFilters));
        int last = all.partitionSchema().length() - 1;
        for (int i = 0; i < directories.size(); i++) {
            InternalRow values = ((PartitionDirectory) directories.get(i)).values();
            if (ordinals.contains(Integer.valueOf(values.getInt(last)))) {
                chosen.add(directories.get(i));
            }
        }
        return Scala.seq(chosen);
    }

    public Seq rootPaths() {
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

    public Option metadataOpsTimeNs() {
        return all.metadataOpsTimeNs();
    }

    public boolean equals(Object other) {
        return other instanceof ChosenFiles && ((ChosenFiles) other).all.equals(all) && ((ChosenFiles) other).ordinals.equals(ordinals);
    }

    public int hashCode() {
        return all.hashCode() * 31 + ordinals.hashCode();
    }

    public String toString() {
        return all.toString();
    }
}
