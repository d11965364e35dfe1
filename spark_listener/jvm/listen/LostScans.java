package headwater.listen;

import headwater.describe.SourceList;
import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Inputs;
import headwater.rewrite.kept.Materialized;
import headwater.rewrite.kept.RecordedRows;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RowLevelWrite;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * Files and checkpoints of the query as written that the optimizer took out, as the outer side of a join under a DISTINCT: what the query
 * says of them is part of its lineage, and nothing was read that could tell it. The capture says that they are missing.
 *
 * Outside of subqueries a path that is read less often than it was written is lost: the optimizer repeats relations, but never puts two into
 * one. In subqueries it does; a subquery is lost with its relations where neither it nor any column of them is left, and so is a relation
 * that another reader of its path would hide.
 */
final class LostScans {
    private final List relations = new ArrayList(); // of LogicalPlan: files and checkpoints, those of subqueries too
    private final List inMain = new ArrayList(); // those outside of subqueries
    private final Map outside = new HashMap(); // path -> Integer: how often it is read outside of subqueries
    private final Map everywhere = new HashMap(); // path -> Integer
    private final Set columns = new HashSet(); // ExprId of what the relations put out
    private final List subqueries = new ArrayList(); // of PlanExpression
    private final Set identities = new HashSet(); // ExprId of the subqueries
    private boolean repeats; // by common table expressions or caches

    private LostScans(LogicalPlan plan) {
        visit(plan, true);
    }

    /** Those of the plans whose cached or checkpointed rows are read. */
    static void report(LogicalPlan plan, Capture capture) {
        Capture made = Materialized.of(plan);
        if (made != null) {
            report(Materialized.written(plan), made.original, capture);
            LostWindows.report(Materialized.written(plan), made.original, capture);
            report(made.original, capture);
        }
        List below = Scala.list(plan.children());
        below.addAll(Scala.list(plan.subqueries()));
        for (int i = 0; i < below.size(); i++) {
            report((LogicalPlan) below.get(i), capture);
        }
    }

    /** Those of a plan as it was written that it lacks as it `ran`. */
    static void report(LogicalPlan query, LogicalPlan ran, Capture capture) {
        LostScans written = new LostScans(query);
        LostScans kept = new LostScans(ran);
        Set lost = new TreeSet();
        Iterator paths = written.outside.keySet().iterator();
        while (paths.hasNext()) {
            Object path = paths.next();
            if (count(kept.outside, path) < count(written.outside, path)) {
                lost.add(path);
            }
        }
        unkept(written.inMain, written, kept, lost);
        for (int i = 0; i < written.subqueries.size(); i++) {
            PlanExpression subquery = (PlanExpression) written.subqueries.get(i);
            if (!kept.identities.contains(subquery.exprId())) {
                unkept(new LostScans((LogicalPlan) subquery.plan()).relations, written, kept, lost);
            }
        }
        Iterator places = lost.iterator();
        while (places.hasNext()) {
            String reason = "the optimizer took this relation out of the query; its records are not listed";
            capture.problem("Scan " + places.next(), reason, "missing");
        }
    }

    /** Those relations that are gone, of which no column is left: a subquery's that became a join are still there. */
    private static void unkept(List relations, LostScans written, LostScans kept, Set lost) {
        for (int i = 0; i < relations.size(); i++) {
            LogicalPlan relation = (LogicalPlan) relations.get(i);
            String path = path(relation);
            // What stands for a common table expression or a cache may have columns of its own; then only the number of readers tells.
            boolean fewer = !(written.repeats || kept.repeats) || count(kept.everywhere, path) < count(written.everywhere, path);
            boolean gone = count(kept.everywhere, path) == 0; // a checkpoint has the very columns of what it was made of
            if (gone || fewer && !kept.holds(relation)) {
                lost.add(path);
            }
        }
    }

    private boolean holds(LogicalPlan relation) {
        List output = Scala.list(relation.output());
        for (int i = 0; i < output.size(); i++) {
            if (columns.contains(((Attribute) output.get(i)).exprId())) {
                return true;
            }
        }
        return false;
    }

    private void visit(LogicalPlan plan, boolean main) {
        repeats |= plan instanceof WithCTE || plan instanceof InMemoryRelation;
        if (plan instanceof InMemoryRelation) { // in the query as written there stands what is cached
            visit(((InMemoryRelation) plan).cacheBuilder().logicalPlan(), main);
            return;
        }
        String path = path(plan);
        if (path != null) {
            relations.add(plan);
            add(everywhere, path);
            if (main) {
                inMain.add(plan);
                add(outside, path);
            }
            List output = Scala.list(whole(plan).output());
            for (int i = 0; i < output.size(); i++) {
                columns.add(((Attribute) output.get(i)).exprId());
            }
        }
        List expressions = plan instanceof RowLevelWrite ? new ArrayList() : Scala.list(plan.expressions()); // its query says what it does
        for (int i = 0; i < expressions.size(); i++) {
            visit((Expression) expressions.get(i));
        }
        List children = Scala.list(plan.children());
        for (int i = 0; i < children.size(); i++) {
            visit((LogicalPlan) children.get(i), main);
        }
    }

    private void visit(Expression expression) {
        if (Inputs.prunes(expression)) {
            return; // a copy of what stands elsewhere, for speed alone
        }
        if (expression instanceof PlanExpression && ((PlanExpression) expression).plan() instanceof LogicalPlan) {
            subqueries.add(expression);
            identities.add(((PlanExpression) expression).exprId());
            visit((LogicalPlan) ((PlanExpression) expression).plan(), false);
        }
        List children = Scala.list(expression.children());
        for (int i = 0; i < children.size(); i++) {
            visit((Expression) children.get(i));
        }
    }

    private static void add(Map counts, String path) {
        counts.put(path, Integer.valueOf(count(counts, path) + 1));
    }

    private static int count(Map counts, Object path) {
        Integer known = (Integer) counts.get(path);
        return known == null ? 0 : known.intValue();
    }

    /** What tells a leaf's rows: the paths of files, a checkpoint; null: rows that no capture knows. */
    private static String path(LogicalPlan leaf) {
        if (leaf instanceof LogicalRelation && ((LogicalRelation) leaf).relation() instanceof HadoopFsRelation) {
            HadoopFsRelation relation = (HadoopFsRelation) ((LogicalRelation) leaf).relation();
            String table = SourceList.wholeTable((LogicalRelation) leaf, relation); // of which a filter left some partitions, wherever they lie
            return table == null ? relation.location().rootPaths().mkString(", ") : table;
        }
        if (whole(leaf) instanceof DataSourceV2Relation) {
            return ((DataSourceV2Relation) whole(leaf)).table().name();
        }
        if (RecordedRows.of(leaf) != null) {
            return "of the RDD " + ((LogicalRDD) leaf).rdd().id();
        }
        return Materialized.checkpoint(leaf);
    }

    /** A table with all its columns, also where a scan reads few of them. */
    private static LogicalPlan whole(LogicalPlan leaf) {
        return leaf instanceof DataSourceV2ScanRelation ? ((DataSourceV2ScanRelation) leaf).relation() : leaf;
    }
}
