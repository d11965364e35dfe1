package headwater.listen;

import headwater.rewrite.Caches;
import headwater.rewrite.Capture;
import headwater.shim.Scala;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Relations of the query as written that the optimizer took out, as the outer side of a join under a DISTINCT: what the query says of them
 * is part of its lineage, and nothing was read that could tell it. The capture says that they are missing.
 */
final class LostScans {
    private LostScans() {}

    /** Those of the plans whose cached rows are read. */
    static void say(LogicalPlan plan, Capture capture) {
        Capture cached = plan instanceof InMemoryRelation ? Caches.of((InMemoryRelation) plan) : null;
        if (cached != null) {
            say(((InMemoryRelation) plan).cacheBuilder().logicalPlan(), cached.original, capture);
            say(cached.original, capture);
        }
        List below = Scala.list(plan.children());
        below.addAll(Scala.list(plan.subqueries()));
        for (int i = 0; i < below.size(); i++) {
            say((LogicalPlan) below.get(i), capture);
        }
    }

    /** Those of a plan as it was `written` that it lacks as it ran. */
    static void say(LogicalPlan query, LogicalPlan ran, Capture capture) {
        Map written = counts(query);
        Map kept = counts(ran);
        Iterator paths = written.keySet().iterator();
        while (paths.hasNext()) {
            Object path = paths.next();
            Integer left = (Integer) kept.get(path);
            if (left == null || left.intValue() < ((Integer) written.get(path)).intValue()) {
                say(capture, path);
            }
        }
        Set lost = paths(query, new TreeSet());
        lost.removeAll(paths(ran, new TreeSet()));
        lost.removeAll(written.keySet());
        Iterator subqueries = lost.iterator(); // relations of subqueries whose value nothing uses
        while (subqueries.hasNext()) {
            say(capture, subqueries.next());
        }
    }

    private static void say(Capture capture, Object path) {
        capture.problem("Scan " + path, "the optimizer took this relation out of the query; its records are not listed", "missing");
    }

    /** Adds the relations of a plan, those of its subqueries too. */
    private static Set paths(LogicalPlan plan, Set result) {
        result.addAll(counts(plan).keySet());
        nested(plan, result);
        return result;
    }

    private static void nested(LogicalPlan plan, Set result) {
        List subqueries = Scala.list(plan.subqueries());
        for (int i = 0; i < subqueries.size(); i++) {
            paths((LogicalPlan) subqueries.get(i), result);
        }
        List children = Scala.list(plan.children());
        for (int i = 0; i < children.size(); i++) {
            nested((LogicalPlan) children.get(i), result);
        }
    }

    private static Map counts(LogicalPlan plan) {
        Map result = new HashMap();
        count(plan, result);
        return result;
    }

    private static void count(LogicalPlan plan, Map result) {
        if (plan instanceof InMemoryRelation) { // in the query as written there stands what is cached
            count(((InMemoryRelation) plan).cacheBuilder().logicalPlan(), result);
            return;
        }
        if (plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation) {
            String path = ((HadoopFsRelation) ((LogicalRelation) plan).relation()).location().rootPaths().mkString(", ");
            Integer before = (Integer) result.get(path);
            result.put(path, Integer.valueOf(before == null ? 1 : before.intValue() + 1));
        }
        List children = Scala.list(plan.children());
        for (int i = 0; i < children.size(); i++) {
            count((LogicalPlan) children.get(i), result);
        }
    }
}
