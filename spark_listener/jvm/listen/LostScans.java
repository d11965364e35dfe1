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
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
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
 * Files and checkpoints of the query that the optimizer removed, like the outer side of a join under a DISTINCT. These
 * relations are part of the query's lineage, but none of their records is read. The capture reports them as missing.
 *
 * Outside of subqueries, a path is lost if the optimized plan reads it less often than the query does. The optimizer
 * repeats relations there, but never merges two. In subqueries it merges relations. A subquery is lost with its
 * relations if neither the subquery nor any column of the relations is left. A relation is also lost if another reader
 * of its path would hide it.
 */
final class LostScans {
    private final List<LogicalPlan> relations = new ArrayList<>(); // files and checkpoints, those of subqueries too
    private final List<LogicalPlan> inMain = new ArrayList<>(); // those outside of subqueries
    private final Map<String, Object> outside = new HashMap<>(); // path -> Integer: how often it is read outside of subqueries
    private final Map<String, Object> everywhere = new HashMap<>(); // path -> Integer
    private final Set<ExprId> columns = new HashSet<>(); // ExprId of what the relations put out
    private final List<Expression> subqueries = new ArrayList<>(); // of PlanExpression
    private final Set<ExprId> identities = new HashSet<>(); // ExprId of the subqueries
    private boolean repeats; // by common table expressions or caches

    private LostScans(LogicalPlan plan) {
        visit(plan, true);
    }

    /** Report the lost relations of the plans whose cached or checkpointed rows are read. */
    static void report(LogicalPlan plan, Capture capture) {
        Capture made = Materialized.of(plan);
        if (made != null) {
            report(Materialized.written(plan), made.original, capture);
            LostWindows.report(Materialized.written(plan), made.original, capture);
            report(made.original, capture);
        }
        List<LogicalPlan> below = Scala.list(plan.children());
        below.addAll(Scala.list(plan.subqueries()));
        for (LogicalPlan child : below) {
            report(child, capture);
        }
    }

    /** Report the relations of a query that the plan in `ran` lacks. */
    static void report(LogicalPlan query, LogicalPlan ran, Capture capture) {
        LostScans written = new LostScans(query);
        LostScans kept = new LostScans(ran);
        Set<Object> lost = new TreeSet<>();
        for (Object path : written.outside.keySet()) {
            if (count(kept.outside, path) < count(written.outside, path)) {
                lost.add(path);
            }
        }
        unkept(written.inMain, written, kept, lost);
        for (int i = 0; i < written.subqueries.size(); i++) {
            PlanExpression<?> subquery = (PlanExpression<?>) written.subqueries.get(i);
            if (!kept.identities.contains(subquery.exprId())) {
                unkept(new LostScans((LogicalPlan) subquery.plan()).relations, written, kept, lost);
            }
        }
        for (Object place : lost) {
            String reason = "the optimizer took this relation out of the query; its records are not listed";
            capture.problem("Scan " + place, reason, "missing");
        }
    }

    /**
     * Add the removed relations without any remaining column. The relations of a subquery that became a join still have
     * their columns.
     */
    private static void unkept(List<LogicalPlan> relations, LostScans written, LostScans kept, Set<Object> lost) {
        for (LogicalPlan relation : relations) {
            String path = path(relation);
            // The replacement of a common table expression or a cache may have new columns. Then
            // only the number of readers shows a loss.
            boolean fewer = !(written.repeats || kept.repeats) || count(kept.everywhere, path) < count(written.everywhere, path);
            boolean gone = count(kept.everywhere, path) == 0; // a checkpoint has the very columns of what it was made of
            if (gone || fewer && !kept.holds(relation)) {
                lost.add(path);
            }
        }
    }

    private boolean holds(LogicalPlan relation) {
        for (Attribute column : Scala.list(relation.output())) {
            if (columns.contains(column.exprId())) {
                return true;
            }
        }
        return false;
    }

    private void visit(LogicalPlan plan, boolean main) {
        repeats |= plan instanceof WithCTE || plan instanceof InMemoryRelation;
        if (plan instanceof InMemoryRelation inMemoryRelation) { // in the query as written there stands what is cached
            visit(inMemoryRelation.cacheBuilder().logicalPlan(), main);
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
            for (Attribute column : Scala.list(whole(plan).output())) {
                columns.add(column.exprId());
            }
        }
        List<Expression> expressions = plan instanceof RowLevelWrite ? new ArrayList<>() : Scala.list(plan.expressions()); // its query says what it does
        for (Expression expression : expressions) {
            visit(expression);
        }
        for (LogicalPlan child : Scala.list(plan.children())) {
            visit(child, main);
        }
    }

    private void visit(Expression expression) {
        if (Inputs.prunes(expression)) {
            return; // a copy of what stands elsewhere, for speed alone
        }
        if (expression instanceof PlanExpression<?> subquery && subquery.plan() instanceof LogicalPlan logicalPlan) {
            subqueries.add(expression);
            identities.add(subquery.exprId());
            visit(logicalPlan, false);
        }
        for (Expression child : Scala.list(expression.children())) {
            visit(child);
        }
    }

    private static void add(Map<String, Object> counts, String path) {
        counts.put(path, count(counts, path) + 1);
    }

    private static int count(Map<String, Object> counts, Object path) {
        Integer known = (Integer) counts.get(path);
        return known == null ? 0 : known.intValue();
    }

    /** The identity of a leaf's rows: the paths of files, or a checkpoint. Null for rows that no capture knows. */
    private static String path(LogicalPlan leaf) {
        if (leaf instanceof LogicalRelation logicalRelation && logicalRelation.relation() instanceof HadoopFsRelation relation) {
            String table = SourceList.wholeTable(logicalRelation, relation); // a filter selects partitions, wherever they are
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
        return leaf instanceof DataSourceV2ScanRelation scan ? scan.relation() : leaf;
    }
}
