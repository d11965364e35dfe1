package headwater.rewrite.keys;

import headwater.rewrite.core.Capture;
import headwater.rewrite.subqueries.ExistenceUse;
import org.apache.spark.sql.catalyst.plans.ExistenceJoin;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.logical.Join;

/** Which sides a join outputs, and whether it requires that a match is missing. */
public final class JoinKinds {
    private JoinKinds() {}

    /** Whether a join puts out the columns of both its sides. */
    public static boolean putsOutBoth(Join join) {
        JoinType type = join.joinType();
        return type == org.apache.spark.sql.catalyst.plans.Inner$.MODULE$
            || type == org.apache.spark.sql.catalyst.plans.Cross$.MODULE$
            || type == org.apache.spark.sql.catalyst.plans.LeftOuter$.MODULE$
            || type == org.apache.spark.sql.catalyst.plans.RightOuter$.MODULE$
            || type == org.apache.spark.sql.catalyst.plans.FullOuter$.MODULE$
            || type == org.apache.spark.sql.catalyst.plans.LeftSingle$.MODULE$;
    }

    /** Whether the query asks of a join's right side only that nothing there matches. */
    public static boolean isAbsence(Join join, Capture capture) {
        return join.joinType() == org.apache.spark.sql.catalyst.plans.LeftAnti$.MODULE$ || (join.joinType() instanceof ExistenceJoin existenceJoin
            && ExistenceUse.isAbsence(existenceJoin.exists(), capture.original));
    }
}
