package headwater.rewrite;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Joins that put out the columns of both sides: the hidden ones with them, null where a side is missing. */
final class JoinFamily extends Family {
    boolean takes(LogicalPlan node) {
        return node instanceof Join;
    }

    Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Join join = (Join) node;
        Rewriter.check(node);
        JoinType type = join.joinType();
        boolean both = type == org.apache.spark.sql.catalyst.plans.Inner$.MODULE$
            || type == org.apache.spark.sql.catalyst.plans.Cross$.MODULE$
            || type == org.apache.spark.sql.catalyst.plans.LeftOuter$.MODULE$
            || type == org.apache.spark.sql.catalyst.plans.RightOuter$.MODULE$
            || type == org.apache.spark.sql.catalyst.plans.FullOuter$.MODULE$;
        if (!both) {
            throw new Refused("Join " + type.sql().toLowerCase(java.util.Locale.ROOT), "records are not followed through this kind of join yet");
        }
        Rewritten left = rewriter.rewrite(join.left());
        Rewritten right = rewriter.rewrite(join.right());
        List hidden = new ArrayList(left.hidden);
        hidden.addAll(right.hidden);
        for (int i = 0; i < hidden.size(); i++) {
            if (rewriter.capture.isWindow(((Hidden) hidden.get(i)).operator)) {
                // A sort-merge join leaves rows of a side unread when the other side ends: frames that reach over them would be short.
                throw new Refused("Join", "records are not followed through a join of what a window made yet");
            }
        }
        List children = new ArrayList();
        children.add(left.plan);
        children.add(right.plan);
        return new Rewritten((LogicalPlan) join.withNewChildren(Scala.seq(children)), hidden);
    }
}
