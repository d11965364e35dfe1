package headwater.write;

import headwater.shim.Scala;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.BucketSpec;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.execution.datasources.BasicWriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Spark's command that writes files, with a statistics tracker that also notes the file of each row. This is a subclass
 * because the command creates its tracker itself.
 */
public final class TrackedInsert extends InsertIntoHadoopFsRelationCommand {
    private static final TreeNodeTag<RowCheck> CHECK = new TreeNodeTag<>("headwater.row.check"); // goes along when Spark copies the node, as a field would not

    public TrackedInsert(InsertIntoHadoopFsRelationCommand command, LogicalPlan query, RowCheck check) {
        this(command, query);
        setTagValue(CHECK, check);
    }

    private TrackedInsert(InsertIntoHadoopFsRelationCommand command, LogicalPlan query) {
        this(
            command.outputPath(), command.staticPartitions(), command.ifPartitionNotExists(), command.partitionColumns(), command.bucketSpec(),
            command.fileFormat(), command.options(), query, command.mode(), command.catalogTable(), command.fileIndex(), command.outputColumnNames());
        copyTagsFrom(command);
    }

    /** TreeNode copies by calling the constructor that takes the product's elements. */
    public TrackedInsert(
        Path path, Map<String, String> staticPartitions, boolean ifPartitionNotExists, Seq<Attribute> partitionColumns, Option<BucketSpec> bucketSpec, FileFormat format, Map<String, String> options,
        LogicalPlan query, SaveMode mode, Option<CatalogTable> table, Option<FileIndex> index, Seq<String> names) {
        super(path, staticPartitions, ifPartitionNotExists, partitionColumns, bucketSpec, format, options, query, mode, table, index, names);
    }

    public BasicWriteJobStatsTracker basicWriteJobStatsTracker(Configuration conf) {
        try {
            return tracker(conf);
        } catch (Throwable fault) { // each task reports that the files of its rows are not known
            return super.basicWriteJobStatsTracker(conf);
        }
    }

    private BasicWriteJobStatsTracker tracker(Configuration conf) {
        RowCheck check = Scala.orNull(getTagValue(CHECK));
        return new FileRunsJobTracker(
            new SerializableConfiguration(conf), metrics(), outputPath().toString(), check == null ? new RowCheck.Unknown() : check);
    }

    public InsertIntoHadoopFsRelationCommand withNewChildInternal(LogicalPlan query) {
        return new TrackedInsert(this, query);
    }

    public String nodeName() {
        return "InsertIntoHadoopFsRelationCommand"; // what the UI and event logs show
    }
}
