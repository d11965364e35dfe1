package headwater.rewrite.core;

import headwater.rewrite.iceberg.TableWrites;
import headwater.rewrite.nodes.HiddenProject;
import headwater.rewrite.scans.formats.RecordFormats;
import headwater.shim.Scala;
import headwater.tap.SegmentSpec;
import headwater.tap.Tap;
import headwater.write.RowCheck;
import headwater.write.TrackedInsert;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.WriteFiles;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;

/**
 * Rewrites the root: a command that writes files, or a table of a supported format. The sink's tap is directly below
 * the writer, above the sort that Spark adds for partitions. So the n-th row of the tap is the n-th row that the task
 * writes.
 */
public final class WriteRewrite {
    private WriteRewrite() {}

    public static boolean takes(LogicalPlan plan) {
        LogicalPlan command = command(plan);
        return command.getClass() == InsertIntoHadoopFsRelationCommand.class || TableWrites.takes(command);
    }

    /** The command of a plan: common table expressions may stand above it. */
    static LogicalPlan command(LogicalPlan plan) {
        return plan instanceof WithCTE withCTE ? withCTE.plan() : plan;
    }

    static LogicalPlan rewrite(LogicalPlan plan, Capture capture) {
        LogicalPlan command = command(plan);
        if (command instanceof InsertIntoHadoopFsRelationCommand insert) {
            check(insert);
        } else {
            TableWrites.check(command);
        }
        Rewriter rewriter = new Rewriter(capture, 1);
        Boundary boundary = capture.boundary(SegmentSpec.SINK, 0, command);
        if (plan == command) {
            return rewrite(command, boundary, rewriter);
        }
        WithCTE with = (WithCTE) plan;
        List<CTERelationDef> definitions = rewriter.definitions.rewrite(with, Inputs.size(query(command)), rewriter);
        return with.copy(rewrite(command, boundary, rewriter), Scala.seq(definitions));
    }

    /** The query whose rows are written. */
    private static LogicalPlan query(LogicalPlan command) {
        LogicalPlan below = command.children().apply(0);
        return below instanceof WriteFiles writeFiles ? writeFiles.child() : below;
    }

    private static LogicalPlan rewrite(LogicalPlan command, Boundary boundary, Rewriter rewriter) {
        LogicalPlan query = query(command);
        Rewritten child = rewriter.rewrite(query);
        List<Expression> values = new ArrayList<>();
        boundary.hidden(child, values);
        if (values.isEmpty()) { // what is written comes from no record, which is its lineage
            values.add(new Literal(null, DataTypes.LongType));
            boundary.column(HiddenColumn.REF, "operator", 1);
        }
        Tap tap = new Tap(Scala.seq(values), rewriter.capture.sink(boundary));
        if (!(command instanceof InsertIntoHadoopFsRelationCommand insert)) {
            LogicalPlan tapped = new Filter(TableWrites.ofRowsThatStay(command, tap), child.plan);
            return TableWrites.tracked(command, new HiddenProject(query.output(), tapped, query), rewriter.capture);
        }
        LogicalPlan original = new HiddenProject(query.output(), new Filter(tap, child.plan), query);
        RowCheck check = RecordFormats.written(insert.fileFormat()).rowCheck(insert);
        return new TrackedInsert(insert, insert.query().withNewChildren(Scala.seq(original)), check);
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
