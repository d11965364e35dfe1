package headwater.rewrite.core;

import headwater.rewrite.nodes.HiddenProject;
import headwater.rewrite.scans.formats.RecordFormats;
import headwater.shim.Scala;
import headwater.tap.SegmentSpec;
import headwater.write.RowCheck;
import headwater.write.TrackedInsert;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.WriteFiles;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;

/**
 * The root: a command that writes files. The sink's tap stands directly below the writer, above the sort that Spark adds for
 * partitions, so that the n-th row of the tap is the n-th that the task writes.
 */
public final class WriteRewrite {
    private WriteRewrite() {}

    public static boolean takes(LogicalPlan plan) {
        return command(plan).getClass() == InsertIntoHadoopFsRelationCommand.class;
    }

    /** The command of a plan: common table expressions may stand above it. */
    static LogicalPlan command(LogicalPlan plan) {
        return plan instanceof WithCTE ? ((WithCTE) plan).plan() : plan;
    }

    static LogicalPlan rewrite(LogicalPlan plan, Capture capture) {
        InsertIntoHadoopFsRelationCommand command = (InsertIntoHadoopFsRelationCommand) command(plan);
        check(command);
        Rewriter rewriter = new Rewriter(capture, 1);
        Boundary boundary = capture.boundary(SegmentSpec.SINK, 0, command);
        if (plan == command) {
            return rewrite(command, boundary, rewriter);
        }
        WithCTE with = (WithCTE) plan;
        List definitions = rewriter.definitions.rewrite(with, Inputs.size(((WriteFiles) command.query()).child()), rewriter);
        return with.copy(rewrite(command, boundary, rewriter), Scala.seq(definitions));
    }

    private static LogicalPlan rewrite(InsertIntoHadoopFsRelationCommand command, Boundary boundary, Rewriter rewriter) {
        WriteFiles write = (WriteFiles) command.query();
        Rewritten child = rewriter.rewrite(write.child());
        List values = new ArrayList();
        boundary.hidden(child, values);
        if (values.isEmpty()) { // what is written comes from no record, which is its lineage
            values.add(new Literal(null, DataTypes.LongType));
            boundary.column(HiddenColumn.REF, "operator", 1);
        }
        LogicalPlan tapped = Rewriter.tapped(child.plan, values, rewriter.capture.sink(boundary));
        LogicalPlan original = new HiddenProject(write.child().output(), tapped, write.child());
        RowCheck check = RecordFormats.written(command.fileFormat()).rowCheck(command);
        return new TrackedInsert(command, (LogicalPlan) write.withNewChildren(Scala.seq((Object) original)), check);
    }

    private static void check(InsertIntoHadoopFsRelationCommand command) {
        FileFormat format = command.fileFormat();
        String name = "Write " + format;
        if (RecordFormats.written(format) == null) {
            throw new Refused(name, "records written in this format are not numbered yet");
        }
        if (!(command.query() instanceof WriteFiles)) {
            throw new Refused(name, "spark.sql.optimizer.plannedWrite.enabled is off");
        }
        if (SQLConf.get().maxConcurrentOutputFileWriters() > 0) {
            throw new Refused(name, "concurrent output writers (spark.sql.maxConcurrentOutputFileWriters) may sort rows after they were recorded");
        }
    }
}
