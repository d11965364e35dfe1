package headwater.rewrite.keys;

import headwater.shim.Scala;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.EndsWith;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.catalyst.expressions.Year;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;

/**
 * Finds expressions over the columns of scans that Spark and a trace evaluate alike.
 *
 * Each accepted expression must be accepted by graph/duck/translate.py; a test compares them.
 */
public final class SameValues {
    private static final Pattern DATE = Pattern.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}|null"); // of four digits' years alone

    private final Map<ExprId, Expression> defined = new HashMap<>(); // ExprId -> Expression, of projections
    private final Map<ExprId, Integer> scanned = new HashMap<>(); // ExprId -> Integer, the scan that has the column

    /** Allow expressions above to read the columns that a projection computes. */
    public void define(Project project) {
        for (NamedExpression column : Scala.list(project.projectList())) {
            if (column instanceof Alias alias) {
                defined.put(alias.exprId(), alias.child());
            }
        }
    }

    /**
     * Allow expressions above to read the columns of a scan. False if another scan has columns with the same ids,
     * because the id alone identifies a column.
     */
    public boolean define(List<Attribute> columns, int scan) {
        boolean own = true;
        for (Attribute column : columns) {
            own &= scanned.put(column.exprId(), scan) == null;
        }
        return own;
    }

    /** The scans whose columns an expression reads. */
    public Set<Integer> scansOf(Expression expression) {
        Set<Expression> columns = new HashSet<>();
        same(expression, columns);
        Set<Integer> result = new HashSet<>();
        for (Expression column : columns) {
            result.add(scanned.get(((Attribute) column).exprId()));
        }
        return result;
    }

    /** Whether an expression means the same to whoever traces. Adds the columns of scans that it reads. */
    public boolean same(Expression expression, Set<Expression> columns) {
        if (expression instanceof Alias alias) {
            return same(alias.child(), columns);
        }
        if (expression instanceof AttributeReference) {
            Expression definition = defined.get(((Attribute) expression).exprId());
            if (definition != null) {
                return same(definition, columns);
            }
            columns.add(expression);
            return scanned.containsKey(((Attribute) expression).exprId()) && same(expression.dataType());
        }
        if (expression instanceof Literal) {
            boolean dated = !expression.dataType().equals(DataTypes.DateType) || DATE.matcher(expression.toString()).matches();
            return same(expression.dataType()) && dated && expression.toString().indexOf('\0') < 0;
        }
        if (!known(expression)) {
            return false;
        }
        List<Expression> children = Scala.list(expression.children());
        DataType type = null;
        for (Expression child : children) {
            if (!same(child, columns) || (type != null && !type.equals(child.dataType()))) {
                return false; // operands of two types would be widened, and not in the same way everywhere
            }
            type = child.dataType();
        }
        return true;
    }

    private static boolean known(Expression e) {
        return e instanceof EqualTo || e instanceof EqualNullSafe || e instanceof LessThan || e instanceof LessThanOrEqual || e instanceof GreaterThan
            || e instanceof GreaterThanOrEqual || e instanceof And || e instanceof Or || e instanceof Not || e instanceof IsNull
            || e instanceof IsNotNull || e instanceof In || e instanceof StartsWith || e instanceof EndsWith || e instanceof Contains
            || e instanceof Year || isLike(e) || (e instanceof Cast && KeyHash.widened(e) != e);
    }

    /** A pattern that nothing in it escapes. */
    private static boolean isLike(Expression e) {
        Like like = e instanceof Like ownLike ? ownLike : null;
        return like != null && like.right() instanceof Literal && like.right().toString().indexOf(like.escapeChar()) < 0;
    }

    private static boolean same(DataType type) {
        return type.equals(DataTypes.BooleanType) || type.equals(DataTypes.ByteType) || type.equals(DataTypes.ShortType)
            || type.equals(DataTypes.IntegerType) || type.equals(DataTypes.LongType) || type.equals(DataTypes.StringType)
            || type.equals(DataTypes.DateType) || type instanceof DecimalType;
    }
}
