package headwater.rewrite.core;

import headwater.rewrite.delta.Compaction;
import headwater.rewrite.delta.DeltaWrite;
import headwater.rewrite.delta.MergeSource;
import headwater.rewrite.delta.TableCommit;
import headwater.rewrite.delta.TableWrite;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;

/**
 * Commands of tables that write by queries of their own. Such a query runs within the execution of the command, and its
 * capture is the command's capture. A compaction runs many queries, each of which rewrites some files. All of them are
 * one capture, with the plan of the first.
 */
final class TableCommands {
    private static final int MOST_PARTS = 1 << 15;

    private final Captures captures;
    private final FamilyList families;

    TableCommands(Captures captures, FamilyList families) {
        this.captures = captures;
        this.families = families;
    }

    /** The plan to run. Null if no such command runs it. */
    LogicalPlan captured(LogicalPlan plan) {
        TableCommit commit = DeltaWrite.underWay(plan);
        boolean source = commit == null && MergeSource.isUnderWay(plan);
        if (commit == null && !source) {
            return null;
        }
        String own = captures.execution();
        String root = captures.rootExecution();
        if (own == null || root == null || captures.inStream() || plan.getTagValue(CaptureRule.SEEN).isDefined()) {
            return plan;
        }
        plan.setTagValue(CaptureRule.SEEN, true);
        QueryExecution query = SQLExecution.getQueryExecution(Long.parseLong(own));
        LogicalPlan asked = query == null ? null : query.analyzed();
        if (source) {
            return source(plan, asked, root);
        }
        if (!(commit instanceof Compaction)) {
            return written(plan, asked, commit, root);
        }
        synchronized (this) { // its queries run side by side
            return written(plan, asked, commit, root);
        }
    }

    private LogicalPlan written(LogicalPlan plan, LogicalPlan asked, TableCommit commit, String root) {
        long began = System.nanoTime();
        Capture earlier = captures.of(Long.parseLong(root));
        if (earlier != null) {
            return retried(plan, commit, earlier);
        }
        Capture capture = new Capture(new TableWrite(plan, commit), captures, families, asked, false);
        capture.execution = Long.parseLong(root);
        capture.inParts = commit instanceof Compaction;
        LogicalPlan result = plan;
        try {
            if (asked == null || asked.output().size() != plan.output().size()) {
                throw new Refused("Write Delta", "which query is written is not known");
            }
            Object source = captures.source(root);
            MergeSource.find(plan, source instanceof Capture ownCapture ? ownCapture : null, String.valueOf(source));
            result = rewritten(plan, commit, capture, 0);
            capture.register(captures.context());
            capture.rewritten = true;
        } catch (Throwable reason) {
            captures.failed(capture, reason);
        }
        capture.planningNanos = System.nanoTime() - began;
        return captures.remember(root, capture) ? result : plan;
    }

    /** The command has written before. */
    private LogicalPlan retried(LogicalPlan plan, TableCommit commit, Capture capture) {
        TableCommit first = capture.original instanceof TableWrite tableWrite ? tableWrite.commit : null;
        if (commit instanceof Compaction compaction && first instanceof Compaction ownCompaction) {
            int part = ownCompaction.join(compaction);
            return capture.rewritten ? part(plan, commit, capture, part) : plan;
        }
        if (commit instanceof Compaction) { // after a write, by itself: what it wrote are other files than the table holds now
            Map<String, Object> problem = Capture.problemOf(
                "OPTIMIZE", "the table was compacted as soon as it was written, and the rows of the new files are not followed", "missing");
            if (!capture.problems.contains(problem)) { // of its first query
                capture.problems.add(problem);
            }
            return plan;
        }
        capture.rewritten = false; // a part of the rows would be missing
        capture.problem("Write Delta", "the command writes more than once", "refused");
        return plan;
    }

    private LogicalPlan part(LogicalPlan plan, TableCommit commit, Capture capture, int part) {
        String reason;
        try {
            if (part >= MOST_PARTS) {
                throw new Refused("OPTIMIZE", "it runs more than " + MOST_PARTS + " queries");
            }
            return rewritten(plan, commit, capture, part);
        } catch (Refused refused) {
            reason = refused.getMessage();
        } catch (Throwable fault) {
            reason = String.valueOf(fault);
            captures.fault(fault);
        }
        capture.problem("OPTIMIZE", "some files were rewritten by a query whose records are not followed: " + reason, "missing");
        return plan;
    }

    private static LogicalPlan rewritten(LogicalPlan plan, TableCommit commit, Capture capture, int part) {
        LogicalPlan result = DeltaWrite.rewrite(plan, commit, capture, part);
        PlanCheck.complete(result);
        PlanTrial.run(plan, result);
        result.setTagValue(CaptureRule.SEEN, true);
        return result;
    }

    /** Capture the source of a MERGE separately, because MERGE checkpoints it first. */
    private LogicalPlan source(LogicalPlan plan, LogicalPlan asked, String root) {
        Capture capture = new Capture(plan, captures, families, asked, true);
        try {
            LogicalPlan rewritten = MergeSource.rewrite(plan, capture);
            PlanCheck.complete(rewritten);
            PlanTrial.run(plan, rewritten);
            capture.release();
            capture.register(captures.context());
            capture.rewritten = true;
            rewritten.setTagValue(CaptureRule.SEEN, true);
            captures.source(root, capture);
            return rewritten;
        } catch (Refused refused) {
            captures.source(root, refused.operator + ", " + refused.getMessage());
        } catch (Throwable fault) {
            captures.source(root, String.valueOf(fault));
            captures.fault(fault);
        }
        return plan;
    }
}
