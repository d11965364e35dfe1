package headwater.rewrite.keys;

import headwater.rewrite.core.Refused;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;

/**
 * The condition of a semi-join beyond equal keys. The largest parts that read one side only are values, which the
 * engine computes and the taps record. The rest compares these values, and a trace evaluates it again. Values that do
 * not fit into 64 bits (text, floating point) are compared by hash, for equality only.
 */
public final class ComparedCondition {
    public final List<ComparedValue> left = new ArrayList<>();
    public final List<ComparedValue> right = new ArrayList<>();
    public final Expression compared; // over their placeholders
    private final Join join;

    private ComparedCondition(Expression condition, Join join) {
        this.join = join;
        this.compared = taken(condition);
        if (left.size() > ComparedValue.MOST || right.size() > ComparedValue.MOST) {
            throw new Refused(join.nodeName(), "too many values are compared");
        }
    }

    /** Throws Refused where a part of the condition cannot be recorded. */
    static ComparedCondition of(Expression condition, Join join) {
        return new ComparedCondition(condition, join);
    }

    private Expression taken(Expression part) {
        List<ComparedValue> side = sideOf(part);
        if (side != null && ComparedValue.fits(part.dataType())) {
            return placed(part, part.dataType(), side);
        }
        List<Expression> children = Scala.list(part.children());
        if (part instanceof EqualTo || part instanceof EqualNullSafe) {
            Expression one = children.get(0);
            Expression other = children.get(1);
            if (sideOf(one) != null && sideOf(other) != null && !ComparedValue.fits(one.dataType())) {
                List<Expression> hashes = new ArrayList<>();
                hashes.add(placed(hash(one), DataTypes.LongType, sideOf(one)));
                hashes.add(placed(hash(other), DataTypes.LongType, sideOf(other)));
                return part.withNewChildren(Scala.seq(hashes));
            }
        }
        if (children.isEmpty() && !part.references().isEmpty()) {
            throw new Refused(join.nodeName(), part.sql() + " is a value of the type " + part.dataType().catalogString());
        }
        List<Expression> renewed = new ArrayList<>();
        for (Expression child : children) {
            renewed.add(taken(child));
        }
        return children.isEmpty() ? part : part.withNewChildren(Scala.seq(renewed));
    }

    /** The values of the one side that an expression reads; null if it reads none or both, or may differ when it is computed again. */
    private List<ComparedValue> sideOf(Expression part) {
        if (part.references().isEmpty() || !part.deterministic() || readsPlan(part)) {
            return null;
        }
        if (part.references().subsetOf(join.left().outputSet())) {
            return left;
        }
        return part.references().subsetOf(join.right().outputSet()) ? right : null;
    }

    private static boolean readsPlan(Expression part) {
        List<Expression> children = Scala.list(part.children());
        boolean result = part instanceof PlanExpression<?>;
        for (Expression child : children) {
            result |= readsPlan(child);
        }
        return result;
    }

    private static Expression placed(Expression value, DataType type, List<ComparedValue> side) {
        for (ComparedValue known : side) {
            if (known.value().semanticEquals(value)) {
                return known.placeholder();
            }
        }
        AttributeReference placeholder = new AttributeReference(
            value.sql(), type, value.nullable(), Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.empty());
        side.add(new ComparedValue(placeholder, value));
        return placeholder;
    }

    private static Expression hash(Expression value) {
        List<Expression> keys = new ArrayList<>();
        keys.add(value);
        return KeyHash.ofJoin(keys, "Join", null);
    }
}
