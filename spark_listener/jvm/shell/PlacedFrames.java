package headwater.shell;

import com.fasterxml.jackson.databind.ObjectMapper;
import headwater.shim.Frames;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.source.NumberedParquet;
import headwater.source.PlacedFiles;
import headwater.source.ReadAgain;
import headwater.source.WantedRows;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.KnownNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Repartition;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;

/** Frames of Parquet files with the place of each record, or with selected records only, for `headwater.lineage`. */
public final class PlacedFrames {
    private static final String LABEL = "_headwater_file";

    private final SparkSession session;

    public PlacedFrames(SparkSession session) {
        this.session = session;
    }

    /**
     * The rows of `frame` with two more columns: `file`, the label of the record's file, and `row`, its number in the
     * file. `frame` reads the files without Headwater, and each call gives columns of its own. `labels` are by path, and
     * files without a label are left out. `wanted` selects records, and null selects all. `files` are the files that the
     * run read, in the form of `ReadAgain`. With `together`, one task reads all files: for little data, further tasks
     * and the exchange of their results take longer than the data.
     */
    public Dataset<Row> of(Dataset<?> frame, String file, String row, Map<?, String> labels, Map<Object, byte[]> wanted, String files, boolean together) throws Exception {
        ReadAgain again = new ReadAgain(files, session.sparkContext().hadoopConfiguration());
        LogicalRelation scan = ((LogicalRelation) Frames.plan(frame)).newInstance(); // a program may join two answers
        HadoopFsRelation relation = (HadoopFsRelation) scan.relation();
        StructType partition = relation.partitionSchema().add(LABEL, DataTypes.StringType, false);
        StructType data = relation.dataSchema().add(NumberedParquet.ROW_INDEX, DataTypes.LongType, true);
        Attribute label = column(LABEL, DataTypes.StringType, false);
        Attribute position = column(NumberedParquet.ROW_INDEX, DataTypes.LongType, true);
        NumberedParquet format = new NumberedParquet(0, null, wanted == null ? null : new WantedRows(wanted), again);
        HadoopFsRelation placed = Nodes.relation(relation, new PlacedFiles(relation.location(), partition, labels), partition, data, format);
        List<Attribute> output = Scala.list(scan.output());
        List<NamedExpression> columns = new ArrayList<>();
        columns.add(named(label, file));
        columns.add(named(new KnownNotNull(position), row)); // the reader never gives null
        columns.addAll(output);
        output.add(position);
        output.add(label);
        LogicalPlan plan = Nodes.scan(scan, placed, Scala.seq(output));
        if (wanted != null) {
            Expression zero = new Literal(0L, DataTypes.LongType);
            plan = new Filter(new GreaterThanOrEqual(position, zero), plan); // what is not wanted has less
        }
        plan = new Project(Scala.seq(columns), plan);
        return Frames.of(session, together ? new Repartition(1, false, plan) : plan);
    }

    /** A JSON list of messages, one for each of these files that has changed, in the form of `ReadAgain`. */
    public String changed(String files) throws IOException {
        return new ObjectMapper().writeValueAsString(new ReadAgain(files, session.sparkContext().hadoopConfiguration()).changed());
    }

    /**
     * The two columns of a frame of longs that are never null, row after row, the highest byte first. The job is not one
     * of Spark SQL, whose listeners would get a description of the plan.
     */
    public byte[] pairs(Dataset<Row> frame) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : frame.queryExecution().toRdd().toJavaRDD().mapPartitions(new Pairs()).collect()) {
            all.write(part);
        }
        return all.toByteArray();
    }

    private static final class Pairs implements FlatMapFunction<Iterator<InternalRow>, byte[]> {
        public Iterator<byte[]> call(Iterator<InternalRow> rows) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream pairs = new DataOutputStream(bytes);
            while (rows.hasNext()) {
                InternalRow row = rows.next();
                pairs.writeLong(row.getLong(0));
                pairs.writeLong(row.getLong(1));
            }
            return List.of(bytes.toByteArray()).iterator();
        }
    }

    private static Alias named(Expression expression, String name) {
        return new Alias(expression, name, NamedExpression$.MODULE$.newExprId(), Scala.empty(), Scala.none(), Scala.empty());
    }

    private static Attribute column(String name, DataType type, boolean nullable) {
        return new AttributeReference(name, type, nullable, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.empty());
    }
}
