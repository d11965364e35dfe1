package headwater.rewrite.core;

import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Differences;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;

/**
 * Common table expressions that are left after optimization. There are two kinds: Scalar subqueries that Spark merged
 * into one are followed. Expressions that are used several times and are not deterministic are refused, because Spark
 * decides only at run time whether to run them once or once for each use. Definitions are numbered after the plan that
 * uses them.
 */
public final class Definitions {
    private final Map<Long, Rewritten> known = new HashMap<>(); // Long id -> Rewritten

    /** Rewrites the definitions of a node, and goes back to the next number: `size` numbers are left there for its plan. */
    public List<CTERelationDef> rewrite(WithCTE node, int size, Rewriter rewriter) {
        int begin = rewriter.number();
        rewriter.jump(begin + size);
        List<CTERelationDef> result = new ArrayList<>();
        for (CTERelationDef definition : Scala.list(node.cteDefs())) {
            if (!definition.underSubquery()) {
                throw new Refused("CTERelationDef", "it is used several times and is not deterministic: which run gave which rows is not known");
            }
            rewriter.number();
            Rewritten child = rewriter.rewrite(definition.child());
            List<Attribute> columns = Scala.list(definition.child().output());
            columns.addAll(child.attributes());
            Rewritten whole = new Rewritten(new HiddenProject(Scala.seq(columns), child.plan, definition.child()), child.hidden);
            known.put(definition.id(), whole);
            result.add((CTERelationDef) definition.withNewChildren(Scala.seq(whole.plan)));
        }
        rewriter.jump(begin);
        return result;
    }

    /**
     * A reference to a definition also outputs its hidden columns, as the same attributes. Spark replaces the reference
     * by the plan.
     */
    public Rewritten of(CTERelationRef reference) {
        Rewritten definition = known.get(reference.cteId());
        LogicalPlan renewed = definition == null ? null : Differences.reference(reference, definition.plan.output());
        if (renewed == null || reference.output().size() + definition.hidden.size() != renewed.output().size()
            || !reference.outputSet().subsetOf(renewed.outputSet())) {
            throw new Refused("CTERelationRef", "records are not followed into this common table expression");
        }
        return new Rewritten(renewed, definition.hidden);
    }
}
