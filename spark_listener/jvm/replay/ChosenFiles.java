package headwater.replay;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/** Some files of an index, by their paths. */
final class ChosenFiles implements FileIndex {
    private final FileIndex all;
    private final Set<String> paths;

    ChosenFiles(FileIndex all, Set<String> paths) {
        this.all = all;
        this.paths = Set.copyOf(paths);
    }

    public Seq<PartitionDirectory> listFiles(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
        List<PartitionDirectory> chosen = new ArrayList<>();
        List<PartitionDirectory> directories = Scala.list(all.listFiles(partitionFilters, dataFilters));
        for (PartitionDirectory directory : directories) {
            List<FileStatusWithMetadata> files = new ArrayList<>();
            for (FileStatusWithMetadata file : Scala.list(directory.files())) {
                if (paths.contains(file.getPath().toString())) {
                    files.add(file);
                }
            }
            if (!files.isEmpty()) {
                chosen.add(new PartitionDirectory(directory.values(), Scala.seq(files)));
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
        return all.sizeInBytes() / files * Math.min(files, Math.max(1, paths.size())); // Spark plans joins by it
    }

    public StructType partitionSchema() {
        return all.partitionSchema();
    }

    public Option<Object> metadataOpsTimeNs() {
        return all.metadataOpsTimeNs();
    }

    public boolean equals(Object other) {
        return other instanceof ChosenFiles chosenFiles && chosenFiles.all.equals(all) && chosenFiles.paths.equals(paths);
    }

    public int hashCode() {
        return all.hashCode() * 31 + paths.hashCode();
    }

    public String toString() {
        return all.toString();
    }
}
