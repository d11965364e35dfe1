package headwater.rewrite.core;

import headwater.rewrite.subqueries.Subqueries;
import headwater.shim.Scala;
import headwater.tap.Tap;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PythonFuncExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Walks an optimised plan and puts hidden references and taps into it, a family of operators at a time. Operators are
 * numbered in preorder of the original plan, as its description numbers them: the write is 0.
 */
public final class Rewriter {
    public final Capture capture;
    private final boolean taps;
    private int next;
    private int stoppers;
    public final Definitions definitions = new Definitions();
    public final Map<Integer, Attribute> existences = new HashMap<>(); // Integer operator of an existence join -> Attribute that says whether there is a match
    private LogicalPlan limited; // the limit below a window that is just being rewritten, and its number
    private int limit;

    public Rewriter(Capture capture, int first) {
        this(capture, first, true);
    }

    private Rewriter(Capture capture, int first, boolean taps) {
        this.capture = capture;
        this.next = first;
        this.taps = taps;
    }

    /**
     * A rewriter for a plan that may run in addition to the query. This rewriter refuses operators that need a tap, and
     * gives operators no numbers.
     */
    public Rewriter withoutTaps() {
        return new Rewriter(capture, Integer.MIN_VALUE, false);
    }

    /** A new boundary at an operator of the original plan. */
    public Boundary boundary(String kind, int operator, LogicalPlan original) {
        if (!taps) {
            throw new Refused(original.nodeName(), "it would be recorded twice");
        }
        return capture.boundary(kind, operator, original);
    }

    /** A window says that this limit, its input, is one that Spark made of a filter of its ranks. */
    public void limited(LogicalPlan node, int operator) {
        limited = node;
        limit = operator;
    }

    /** The limit that a window announced, or null. */
    public LogicalPlan limited() {
        return limited;
    }

    /** The number of that limit. */
    public int limitOperator() {
        return limit;
    }

    public Rewritten rewrite(LogicalPlan node) {
        int operator = number();
        Subqueries subqueries = Subqueries.rewrite(node, this);
        Family family = capture.families.of(node);
        if (family == null) {
            throw new Refused(node.nodeName(), "records are not followed through this operator yet");
        }
        return subqueries.joined(family.rewrite(subqueries.node, operator, this), node);
    }

    /** Goes on numbering at another place. */
    public void jump(int to) {
        next = to;
    }

    /** Rewrites a child of an operator that may stop reading it before its end. */
    public Rewritten rewriteStoppable(LogicalPlan child) {
        stoppers++;
        try {
            return rewrite(child);
        } finally {
            stoppers--;
        }
    }

    /** Whether something above may leave rows unread: a sort-merge join stops when its other side ends. */
    public boolean stoppable() {
        return stoppers > 0;
    }

    /** The number of the operator that is met next. */
    public int upcoming() {
        return next;
    }

    /** The number of the operator that is met now. */
    public int number() {
        return next++;
    }

    /** Leave a plan unchanged because nothing above follows its records. Its operators keep their numbers. */
    public LogicalPlan unfollowed(LogicalPlan node) {
        next += Inputs.size(node);
        return node;
    }

    /** Refuses expressions that read other relations or that no family understands. */
    public static void check(LogicalPlan node) {
        for (Expression expression : Scala.list(node.expressions())) {
            check(node, expression);
        }
    }

    private static void check(LogicalPlan node, Expression expression) {
        if (Inputs.prunes(expression) || isFollowed(expression)) {
            return;
        }
        if (expression instanceof PlanExpression<?>) {
            throw new Refused(expression.nodeName(), "records are not followed through this kind of subquery yet");
        }
        if (expression instanceof PythonUDF) {
            throw new Refused(node.nodeName(), "a Python function in this place is not understood");
        }
        for (Expression child : Scala.list(expression.children())) {
            check(node, child);
        }
    }

    /** Whether an expression is a scalar subquery without a correlation. */
    private static boolean isFollowed(Expression expression) {
        return expression instanceof ScalarSubquery scalarSubquery && scalarSubquery.children().isEmpty();
    }

    /** Refuses functions in Python of any kind, grouped ones among them. */
    public static void checkNoPython(LogicalPlan node) {
        for (Expression expression : Scala.list(node.expressions())) {
            checkNoPython(node, expression);
        }
    }

    private static void checkNoPython(LogicalPlan node, Expression expression) {
        if (expression instanceof PythonFuncExpression) {
            throw new Refused(node.nodeName(), "a Python function in this place is not understood");
        }
        for (Expression child : Scala.list(expression.children())) {
            checkNoPython(node, child);
        }
    }

    /** Refuses the arguments of Python functions that read other relations. */
    public static void checkArguments(LogicalPlan node) {
        for (Expression expression : Scala.list(node.expressions())) {
            checkArguments(expression);
        }
    }

    private static void checkArguments(Expression expression) {
        if (expression instanceof PlanExpression<?> && !isFollowed(expression)) {
            throw new Refused(expression.nodeName(), "records are not followed through this kind of subquery yet");
        }
        for (Expression child : Scala.list(expression.children())) {
            checkArguments(child);
        }
    }

    /** The plan with a tap on top: same output, same order. */
    public static LogicalPlan tapped(LogicalPlan plan, List<Expression> values, headwater.tap.TapSink sink) {
        return new Filter(new Tap(Scala.seq(values), sink), plan);
    }

    public static Alias alias(Expression expression, String name) {
        return new Alias(
            expression, HiddenColumn.PREFIX + name, NamedExpression$.MODULE$.newExprId(), Scala.empty(), Scala.none(), Scala.empty());
    }

    /** The columns of a plan without its hidden ones. */
    public static List<NamedExpression> visible(Rewritten child) {
        List<NamedExpression> result = new ArrayList<>();
        List<Attribute> output = Scala.list(child.plan.output());
        List<Attribute> hidden = child.attributes();
        for (Attribute column : output) {
            if (hidden.stream().noneMatch(ours -> ours.exprId().equals(column.exprId()))) {
                result.add(column);
            }
        }
        return result;
    }
}
