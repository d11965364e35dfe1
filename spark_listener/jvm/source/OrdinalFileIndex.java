package headwater.source;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * A file index that remembers the files that it listed. If its schema has a column for it, each file's ordinal is one
 * more partition value. Readers fill partition columns with constants, so the ordinal costs almost nothing for each
 * row. Files keep the order of the original index, so that tasks get the same splits as without us.
 *
 * Two of these are equal if they wrap equal indexes. Without that, exchanges could not be reused.
 */
public final class OrdinalFileIndex implements FileIndex {
    private final HadoopFsRelation relation;
    private final FileIndex original;
    private final SourceFiles files;
    private final StructType schema;

    public OrdinalFileIndex(HadoopFsRelation relation, SourceFiles files, StructType schema) {
        this.relation = relation;
        this.original = relation.location();
        this.files = files;
        this.schema = schema;
    }

    public Seq<PartitionDirectory> listFiles(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
        List<PartitionDirectory> directories = Scala.list(original.listFiles(partitionFilters, dataFilters));
        List<SourceFiles.Found> found = new ArrayList<>();
        for (PartitionDirectory directory : directories) {
            for (FileStatusWithMetadata file : Scala.list(directory.files())) {
                FileStatus status = file.fileStatus();
                boolean splitable = files.unit > 0L && relation.fileFormat().isSplitable(relation.sparkSession(), relation.options(), status.getPath());
                found.add(new SourceFiles.Found(status, directory.values(), splitable));
            }
        }
        files.list(found);
        if (schema.length() == relation.partitionSchema().length()) {
            return Scala.seq(directories); // nobody asks for ordinals
        }
        List<PartitionDirectory> result = new ArrayList<>();
        for (PartitionDirectory directory : directories) {
            for (FileStatusWithMetadata file : Scala.list(directory.files())) {
                result.add(new PartitionDirectory(withOrdinal(directory.values(), files.ordinal(file.fileStatus())), Scala.seq(file)));
            }
        }
        return Scala.seq(result);
    }

    private InternalRow withOrdinal(InternalRow values, int ordinal) {
        int width = schema.length() - 1;
        Object[] all = new Object[width + 1];
        for (int i = 0; i < width; i++) {
            all[i] = values.isNullAt(i) ? null : values.get(i, schema.apply(i).dataType());
        }
        all[width] = Integer.valueOf(ordinal);
        return new GenericInternalRow(all);
    }

    public Seq<Path> rootPaths() {
        return original.rootPaths();
    }

    public String[] inputFiles() {
        return original.inputFiles();
    }

    public void refresh() {
        original.refresh();
    }

    public long sizeInBytes() {
        return original.sizeInBytes();
    }

    public StructType partitionSchema() {
        return schema;
    }

    public Option<Object> metadataOpsTimeNs() {
        return original.metadataOpsTimeNs();
    }

    public boolean equals(Object other) {
        return other instanceof OrdinalFileIndex ordinalFileIndex && ordinalFileIndex.original.equals(original);
    }

    public int hashCode() {
        return original.hashCode();
    }

    public String toString() {
        return original.toString();
    }
}
