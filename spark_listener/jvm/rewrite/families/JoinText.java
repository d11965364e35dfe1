package headwater.rewrite.families;

import headwater.rewrite.keys.SemiJoinKeys;
import headwater.text.ExpressionText;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.ExistenceJoin;
import org.apache.spark.sql.catalyst.plans.logical.Join;

/** A join of any kind in a manifest: how it joins, what it reads, its condition. */
final class JoinText {
    private JoinText() {}

    static void describe(Join join, Map operator, ExpressionText expressions) {
        operator.put("how", SemiJoinKeys.how(join.joinType()));
        if (join.joinType() instanceof ExistenceJoin) {
            List exists = new ArrayList(); // the column that says whether a row has a match
            exists.add(OperatorText.named(((ExistenceJoin) join.joinType()).exists()));
            operator.put("columns", exists);
        }
        operator.put("reads", OperatorText.reads(join));
        if (join.condition().isDefined()) {
            operator.put("condition", expressions.outermost((Expression) join.condition().get()));
        }
    }
}
