package headwater.rewrite.scans;

import headwater.rewrite.core.Rewriter;
import headwater.rewrite.nodes.HiddenProject;
import headwater.rewrite.scans.formats.DeletionMarks;
import headwater.rewrite.scans.formats.RecordFormat;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.source.NumberedParquet;
import headwater.source.OrdinalFileIndex;
import headwater.source.SourceFiles;
import headwater.tap.Reports;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BitwiseOr;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.ShiftLeft;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;

/**
 * A scan of files with one more column, the reference of each record. Parquet: the row index, computed from the place
 * of the batch (NumberedParquet), and the file's ordinal as a partition constant. Other formats: a column that the
 * wrapped reader counts (RankedFormat).
 */
public record NumberedScan(LogicalPlan plan, Attribute reference) {
    /**
     * `reports` receives records without a number, and the splits that were read. Without `reports`, a record without a
     * number fails the task. Without `splits`, one task reads each whole file whose reader has no positions.
     */
    public static NumberedScan of(LogicalRelation scan, HadoopFsRelation relation, RecordFormat format, SourceFiles files, Reports reports, boolean splits) {
        String name = format.column();
        boolean index = name.equals(NumberedParquet.ROW_INDEX);
        StructType partition = relation.partitionSchema().add(format.ordinal(), DataTypes.IntegerType, false);
        AttributeReference ordinal = column(format.ordinal(), DataTypes.IntegerType, false);
        // the vectorised Parquet reader refuses a column that is not nullable and not in the file; it never gives null
        Expression read = index ? MetadataColumn.rowIndex(scan) : null;
        StructType data = read == null ? relation.dataSchema().add(name, DataTypes.LongType, index) : relation.dataSchema();
        Expression position = read == null ? column(name, DataTypes.LongType, index) : read;
        DeletionMarks marks = format.marks(scan, relation);
        HadoopFsRelation marked = relation;
        if (marks != null) {
            data = data.add(marks.column().name(), marks.column().dataType(), true);
            marked = Nodes.relation(relation, relation.location(), relation.partitionSchema(), relation.dataSchema(), marks.format());
        }
        OrdinalFileIndex listed = new OrdinalFileIndex(marked, files, partition);
        HadoopFsRelation numbered = Nodes.relation(marked, listed, partition, data, format.numbered(marked, files, reports, splits));

        List<Attribute> output = Scala.list(scan.output());
        List<NamedExpression> columns = new ArrayList<>(output);
        if (read == null) {
            output.add((Attribute) position);
        }
        output.add(ordinal);
        LogicalPlan renewed;
        if (marks == null) {
            renewed = Nodes.scan(scan, numbered, Scala.seq(output));
        } else {
            output.add(marks.column());
            renewed = new Filter(new And(marks.kept(), isRead(position)), Nodes.scan(scan, numbered, Scala.seq(output)));
        }
        Alias reference = Rewriter.alias(index ? packed(ordinal, position) : position, "row");
        columns.add(reference);
        return new NumberedScan(new HiddenProject(Scala.seq(columns), renewed, scan), reference.toAttribute());
    }

    /** The unchanged scan, except that the files that it reads are listed. */
    public static LogicalPlan listed(LogicalRelation scan, HadoopFsRelation relation, SourceFiles files) {
        OrdinalFileIndex index = new OrdinalFileIndex(relation, files, relation.partitionSchema());
        HadoopFsRelation renewed = Nodes.relation(relation, index, relation.partitionSchema(), relation.dataSchema(), relation.fileFormat());
        return Nodes.scan(scan, renewed, scan.output());
    }

    /**
     * Always true: a reader that marks records needs their numbers, whoever else asks for them. Spark pushes nothing
     * like it into the reader.
     */
    private static Expression isRead(Expression position) {
        return new GreaterThanOrEqual(new KnownNotNull(position), new Literal(0L, DataTypes.LongType));
    }

    private static Expression packed(AttributeReference ordinal, Expression position) {
        Expression wide = Cast$.MODULE$.apply(ordinal, DataTypes.LongType, false);
        return new BitwiseOr(new ShiftLeft(wide, new Literal(40, DataTypes.IntegerType)), new KnownNotNull(position));
    }

    private static AttributeReference column(String name, DataType type, boolean nullable) {
        return new AttributeReference(name, type, nullable, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.empty());
    }
}
