package headwater.rewrite.families;

import headwater.rewrite.keys.SemiJoinKeys;
import headwater.text.ExpressionText;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.ExistenceJoin;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.logical.Join;

/** A join of any kind in a manifest: how it joins, what it reads, its condition. */
final class JoinText {
    private JoinText() {}

    static void describe(Join join, Map<String, Object> operator, ExpressionText expressions) {
        operator.put("how", SemiJoinKeys.how(join.joinType()));
        List<Integer> optional = optional(join.joinType());
        if (!optional.isEmpty()) {
            operator.put("optional", optional);
        }
        if (join.joinType() instanceof ExistenceJoin existenceJoin) {
            List<Map<String, Object>> exists = new ArrayList<>(); // the column that says whether a row has a match
            exists.add(OperatorText.named(existenceJoin.exists()));
            operator.put("columns", exists);
        }
        operator.put("reads", OperatorText.reads(join));
        if (join.condition().isDefined()) {
            operator.put("condition", expressions.outermost(join.condition().get()));
        }
    }

    /** The places of the inputs that may have no row in a result row. */
    private static List<Integer> optional(JoinType type) {
        boolean full = type == org.apache.spark.sql.catalyst.plans.FullOuter$.MODULE$;
        List<Integer> result = new ArrayList<>();
        if (full || type == org.apache.spark.sql.catalyst.plans.RightOuter$.MODULE$) {
            result.add(0);
        }
        if (full || type == org.apache.spark.sql.catalyst.plans.LeftOuter$.MODULE$
            || type == org.apache.spark.sql.catalyst.plans.LeftSingle$.MODULE$ || type instanceof ExistenceJoin) {
            result.add(1);
        }
        return result;
    }
}
