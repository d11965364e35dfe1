package headwater.rewrite.core;

import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Rewrites and describes one kind of operator. A new operator needs a new family in the list of Families, and no change
 * to other families.
 */
public abstract class Family {
    /** Whether this family rewrites nodes of this class. Families are asked in order, the first takes the node. */
    public abstract boolean takes(LogicalPlan node);

    /**
     * Rewrites a node and, through the rewriter, each of its children once and in order (operators are numbered on the
     * way). Throws Refused for what cannot be exact.
     */
    public abstract Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter);

    /** Whether this family describes nodes of this class: subclasses that it does not rewrite may be among them. */
    public boolean describes(LogicalPlan node) {
        return takes(node);
    }

    /**
     * How a row of the operator depends on its input, as a constant of Behaviour. Null if the family does not know it.
     * An answer reports that.
     */
    public String behaviour(LogicalPlan node) {
        return null;
    }

    /** Puts what an operator reads and defines into its part of the manifest, which has the operator's name and text already. */
    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        OperatorText.plain(node, operator, sources);
    }
}
