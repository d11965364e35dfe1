package headwater.shim;

import java.util.List;
import java.util.Map;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Copies of Spark's plan nodes with some parts replaced. The `copy` method of a case class changes when the class gets
 * a new member. Code that differs between the supported lines of Spark is in their folders (Differences).
 */
public final class Nodes {
    private Nodes() {}

    public static HadoopFsRelation relation(HadoopFsRelation of, FileIndex files, StructType partition, StructType data, FileFormat format) {
        return of.copy(files, partition, data, of.bucketSpec(), format, of.options(), of.sparkSession());
    }

    public static HadoopFsRelation relation(FileIndex files, StructType partition, StructType data, FileFormat format, Map<String, String> options, SparkSession session) {
        return new HadoopFsRelation(files, partition, data, Scala.none(), format, Scala.texts(options), (org.apache.spark.sql.classic.SparkSession) session);
    }

    /** A scan that no catalog knows. */
    public static LogicalRelation scan(HadoopFsRelation relation, Seq<? extends Attribute> output) {
        return new LogicalRelation(relation, references(output), Scala.none(), false, Scala.none());
    }

    public static LogicalRelation scan(LogicalRelation of, HadoopFsRelation relation, Seq<? extends Attribute> output) {
        return of.copy(relation, references(output), of.catalogTable(), of.isStreaming(), of.stream());
    }

    /** Another scan of the same table, with another output. */
    public static DataSourceV2ScanRelation tableScan(DataSourceV2ScanRelation of, Scan scan, Seq<? extends Attribute> output) {
        return of.copy(of.relation(), scan, references(output), of.keyGroupedPartitioning(), of.ordering());
    }

    /** A node with some of the things that it is made of renewed, each by that very object, whatever others it has. */
    public static <T> T renewed(TreeNode<?> of, Map<Object, Object> parts) {
        Object[] all = new Object[of.productArity()];
        for (int i = 0; i < all.length; i++) {
            Object part = of.productElement(i);
            all[i] = parts.containsKey(part) ? parts.get(part) : part;
        }
        return Untyped.value(of.makeCopy(all));
    }

    /** A command with another query and another write to a table, whatever else it has. */
    public static LogicalPlan command(LogicalPlan of, LogicalPlan query, LogicalPlan newQuery, Write write, Write newWrite) {
        Object[] parts = new Object[of.productArity()];
        for (int i = 0; i < parts.length; i++) {
            Object part = of.productElement(i);
            boolean writes = part instanceof Option<?> option && option.isDefined() && option.get() == write;
            parts[i] = part == query ? newQuery : writes ? Scala.some(newWrite) : part;
        }
        return of.makeCopy(parts);
    }

    /** Replace the rows of an RDD scan. The statistics stay. */
    public static LogicalRDD rows(LogicalRDD of, List<Attribute> output, RDD<InternalRow> rows) {
        org.apache.spark.sql.classic.SparkSession session = (org.apache.spark.sql.classic.SparkSession) session(of);
        return of.copy(
            Scala.seq(output), rows, of.outputPartitioning(), of.outputOrdering(), of.isStreaming(), of.stream(), session,
            Scala.some(of.stats()), Scala.none());
    }

    public static SparkSession session(LogicalRDD of) {
        return (SparkSession) of.otherCopyArgs().apply(0); // it has no other way out
    }

    public static Generate generate(Generate of, Seq<Object> unrequired, LogicalPlan child) {
        return of.copy(of.generator(), unrequired, of.outer(), of.qualifier(), of.generatorOutput(), child);
    }

    public static Window window(Window of, Seq<NamedExpression> expressions, LogicalPlan child) {
        return of.copy(expressions, of.partitionSpec(), of.orderSpec(), child, of.hint());
    }

    public static SpecifiedWindowFrame frame(SpecifiedWindowFrame of, Expression lower, Expression upper) {
        return of.copy(of.frameType(), lower, upper);
    }

    public static DynamicPruningSubquery pruning(DynamicPruningSubquery of, LogicalPlan build, Seq<Expression> keys) {
        return of.copy(of.pruningKey(), build, keys, of.broadcastKeyIndices(), of.onlyInBroadcast(), of.exprId(), of.hint());
    }

    public static PartitionedFile part(PartitionedFile of, long start, long length) {
        return of.copy(
            of.partitionValues(), of.filePath(), start, length, of.locations(), of.modificationTime(), of.fileSize(),
            of.otherConstantMetadataColumnValues());
    }
    /** The columns of a relation. Spark declares them as references, and every attribute of a resolved plan is one. */
    @SuppressWarnings("unchecked")
    private static Seq<AttributeReference> references(Seq<? extends Attribute> output) {
        return (Seq<AttributeReference>) output;
    }
}
