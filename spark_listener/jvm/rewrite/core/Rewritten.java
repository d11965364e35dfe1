package headwater.rewrite.core;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A rewritten plan and the hidden columns that it puts out beside the original's. */
public final class Rewritten {
    public final LogicalPlan plan;
    public final List hidden; // of HiddenColumn

    /** The hidden attributes are looked up in the plan's output: an outer join has made some of them nullable. */
    public Rewritten(LogicalPlan plan, List hidden) {
        this.plan = plan;
        this.hidden = new ArrayList();
        Map output = new HashMap();
        List attributes = Scala.list(plan.output());
        for (int i = 0; i < attributes.size(); i++) {
            Attribute attribute = (Attribute) attributes.get(i);
            output.put(Long.valueOf(attribute.exprId().id()), attribute);
        }
        for (int i = 0; i < hidden.size(); i++) {
            HiddenColumn column = (HiddenColumn) hidden.get(i);
            Attribute current = (Attribute) output.get(Long.valueOf(column.attribute.exprId().id()));
            if (current == null) {
                throw new IllegalStateException(plan.nodeName() + " does not put out the hidden column of operator " + column.operator);
            }
            this.hidden.add(column.as(current));
        }
    }

    /** The attributes of the hidden columns. */
    public List attributes() {
        List result = new ArrayList();
        for (int i = 0; i < hidden.size(); i++) {
            result.add(((HiddenColumn) hidden.get(i)).attribute);
        }
        return result;
    }
}
