package headwater.rewrite.core;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A rewritten plan, and the hidden columns in its output. */
public final class Rewritten {
    public final LogicalPlan plan;
    public final List<HiddenColumn> hidden;

    /** The hidden attributes are looked up in the plan's output: an outer join has made some of them nullable. */
    public Rewritten(LogicalPlan plan, List<HiddenColumn> hidden) {
        this.plan = plan;
        this.hidden = new ArrayList<>();
        Map<Long, Attribute> output = new HashMap<>();
        for (Attribute attribute : Scala.list(plan.output())) {
            output.put(attribute.exprId().id(), attribute);
        }
        for (HiddenColumn column : hidden) {
            Attribute current = output.get(column.attribute.exprId().id());
            if (current == null) {
                throw new IllegalStateException(plan.nodeName() + " does not put out the hidden column of operator " + column.operator);
            }
            this.hidden.add(column.as(current));
        }
    }

    /** The attributes of the hidden columns. */
    public List<Attribute> attributes() {
        List<Attribute> result = new ArrayList<>();
        for (HiddenColumn column : hidden) {
            result.add(column.attribute);
        }
        return result;
    }
}
