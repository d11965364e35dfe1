package headwater.rewrite.keys;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Refused;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.plans.ExistenceJoin;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;
import scala.Tuple8;
import scala.collection.immutable.Seq;

/**
 * How a semi-join finds its matches: the hash of equal keys on both sides, by Spark's own equality, and the rest of the
 * condition. `left` and `right` are the hashes of the keys. `check` is a second hash of the right side's keys, or null
 * if `right` is the key itself. `condition` is null if only the keys decide.
 */
public record SemiJoinKeys(
        Expression left, Expression right, Expression check, List<Expression> leftKeys, List<Expression> rightKeys,
        ComparedCondition condition) {
    /**
     * If a part of the condition cannot be recorded, the capture reports that all rows with equal keys are given.
     * Without a capture, the result is null then.
     */
    public static SemiJoinKeys of(Join join, Capture capture) {
        String name = "Join " + how(join.joinType());
        Tuple8<JoinType, Seq<Expression>, Seq<Expression>, Option<Expression>, Option<Expression>, LogicalPlan, LogicalPlan, JoinHint> found = Scala.orNull(ExtractEquiJoinKeys$.MODULE$.unapply(join));
        List<Expression> left = found == null ? new ArrayList<>() : Scala.list((scala.collection.Iterable<Expression>) found._2());
        List<Expression> right = found == null ? new ArrayList<>() : Scala.list((scala.collection.Iterable<Expression>) found._3());
        Expression rest = Scala.orNull(found == null ? join.condition() : found._4());
        ComparedCondition condition = null;
        if (rest != null) {
            try {
                condition = ComparedCondition.of(rest, join);
            } catch (Refused reason) {
                if (capture == null) {
                    return null;
                }
                String text = "which of the rows of equal keys meet the condition is not recorded (" + reason.getMessage() + "); all of them are given";
                capture.problem(name, text, "superset");
            }
        }
        return new SemiJoinKeys(
            KeyHash.narrowed(KeyHash.ofJoin(left, name, capture)), KeyHash.narrowed(KeyHash.ofJoin(right, name, capture)),
            KeyHash.check(right, name), left, right, condition);
    }

    /** The compared values of the right side, as expressions over its columns. */
    public List<Expression> rightValues() {
        return condition == null ? new ArrayList<>() : values(condition.right);
    }

    /** The compared values of the left side. */
    public List<Expression> leftValues() {
        return condition == null ? new ArrayList<>() : values(condition.left);
    }

    private static List<Expression> values(List<ComparedValue> compared) {
        List<Expression> result = new ArrayList<>();
        for (ComparedValue value : compared) {
            result.add(value.value());
        }
        return result;
    }

    /** The kind of a join, in words. */
    public static String how(JoinType type) {
        return type instanceof ExistenceJoin ? "existence" : type.sql().toLowerCase(java.util.Locale.ROOT);
    }
}
