package headwater.rewrite.families;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.keys.KeyHash;
import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.tap.RowReference;
import headwater.tap.SegmentSpec;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.DenseRank;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Rank;
import org.apache.spark.sql.catalyst.expressions.PythonFuncExpression;
import org.apache.spark.sql.catalyst.expressions.RowNumber;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.WindowSpecDefinition;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Complete$;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.types.DataTypes;

/**
 * Windows. Directly above the operator the rows come partition after partition, each in the window's order. The rows
 * are recorded there with the hash of the partition, which is enough for frames of rows. For frames of values, hidden
 * window columns count how far each frame reaches. For ranks with ties, the rank is recorded, and shows the peers. The
 * plan above refers to the window's rows.
 */
public final class WindowFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node.getClass() == Window.class;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Window window = (Window) node;
        Rewriter.checkArguments(node);
        if (LateralLimit.is(window, rewriter.capture)) {
            return LateralLimit.rewrite(window, rewriter);
        }
        Expression hash = KeyHash.of(window.partitionSpec(), "Window", rewriter.capture);
        Boundary boundary = rewriter.boundary(SegmentSpec.WINDOW, operator, node);
        if (LateralLimit.maybe(window, rewriter.capture)) {
            rewriter.capture.problem(
                "Window", "it may be a LIMIT for each row of a LATERAL or correlated query, of which the row alone would be given", "superset");
        }
        boolean limited = GroupLimitFamily.limits(window, rewriter.capture);
        int limit = rewriter.upcoming();
        if (limited) {
            rewriter.limited(window.child(), limit);
        }
        Rewritten child = rewriter.rewrite(window.child());

        List<Expression> values = new ArrayList<>();
        values.add(hash);
        boundary.column("key", null, 0);
        List<NamedExpression> expressions = Scala.list(window.windowExpressions());
        List<SpecifiedWindowFrame> frames = WindowFrames.of(window);
        for (int i = 0; i < frames.size(); i++) {
            SpecifiedWindowFrame frame = frames.get(i);
            if (frame.frameType() != org.apache.spark.sql.catalyst.expressions.RangeFrame$.MODULE$) {
                continue;
            }
            SpecifiedWindowFrame toEnd = Nodes.frame(
                frame, org.apache.spark.sql.catalyst.expressions.UnboundedPreceding$.MODULE$, frame.upper());
            values.add(counted(window, toEnd, expressions));
            boundary.column("frame_end", "frame", i);
            if (frame.lower() != org.apache.spark.sql.catalyst.expressions.UnboundedPreceding$.MODULE$) {
                values.add(counted(window, frame, expressions));
                boundary.column("frame_size", "frame", i);
            }
        }
        Attribute rank = rank(window, limited);
        if (rank != null) { // rows of equal rank are peers, which a trace so knows without another frame
            values.add(Cast$.MODULE$.apply(rank, DataTypes.LongType, false));
            boundary.column("rank", null, 0L);
        }
        if (rewriter.stoppable()) {
            SpecifiedWindowFrame whole = new SpecifiedWindowFrame(
                org.apache.spark.sql.catalyst.expressions.RowFrame$.MODULE$,
                org.apache.spark.sql.catalyst.expressions.UnboundedPreceding$.MODULE$,
                org.apache.spark.sql.catalyst.expressions.UnboundedFollowing$.MODULE$);
            values.add(counted(window, whole, expressions)); // so that a trace sees where rows of a partition were left unread
            boundary.column("total", null, 0L);
        }
        boundary.hidden(child, values);
        if (limited) { // the rest of the row's partition: what the limit below dropped, too
            values.add(GroupLimitFamily.hash(Scala.list(window.partitionSpec()), rewriter.capture));
            boundary.column("partition", "operator", limit);
        }
        LogicalPlan counting = counting(window, expressions, child.plan);
        Alias reference = Rewriter.alias(new RowReference(Scala.seq(values), rewriter.capture.sink(boundary)), "window");
        List<NamedExpression> columns = Scala.list(node.output());
        columns.add(reference);
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(new HiddenColumn(reference.toAttribute(), operator));
        return new Rewritten(new HiddenProject(Scala.seq(columns), counting, node), hidden);
    }

    /**
     * The window with the counting columns. Spark plans a window of Python functions separately, so our columns are in
     * a window of their own above it.
     */
    private static LogicalPlan counting(Window window, List<NamedExpression> expressions, LogicalPlan child) {
        int own = window.windowExpressions().size();
        if (own == expressions.size() || !hasPython((Expression) expressions.get(0))) {
            return Nodes.window(window, Scala.seq(expressions), child);
        }
        LogicalPlan below = Nodes.window(window, window.windowExpressions(), child);
        return Nodes.window(window, Scala.seq(expressions.subList(own, expressions.size())), below);
    }

    private static boolean hasPython(Expression expression) {
        List<Expression> children = Scala.list(expression.children());
        boolean found = expression instanceof PythonFuncExpression;
        for (Expression child : children) {
            found |= hasPython(child);
        }
        return found;
    }

    /** A column of the window that is a rank with ties. Null if there is none, or if a limit of row numbers below separates peers. */
    private static Attribute rank(Window window, boolean limited) {
        Attribute found = null;
        for (NamedExpression column : Scala.list(window.windowExpressions())) {
            Expression function = column instanceof Alias alias ? alias.child() : null;
            function = function instanceof WindowExpression windowExpression ? windowExpression.windowFunction() : null;
            if (limited && function instanceof RowNumber) {
                return null;
            }
            if (function instanceof Rank || function instanceof DenseRank) {
                found = ((Alias) column).toAttribute();
            }
        }
        return found;
    }

    /** Adds a hidden window column with the number of rows in a frame; gives its attribute. */
    private static Attribute counted(Window window, SpecifiedWindowFrame frame, List<NamedExpression> expressions) {
        Expression one = new Literal(1, DataTypes.IntegerType);
        AggregateExpression count = new AggregateExpression(
            new Count(Scala.seq(one)), Complete$.MODULE$, false, Scala.none(),
            org.apache.spark.sql.catalyst.expressions.NamedExpression$.MODULE$.newExprId());
        WindowSpecDefinition specification = new WindowSpecDefinition(window.partitionSpec(), window.orderSpec(), frame);
        Alias alias = Rewriter.alias(new WindowExpression(count, specification), "frame");
        expressions.add(alias);
        return alias.toAttribute();
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.WINDOW;
    }

    public boolean describes(LogicalPlan node) {
        return node instanceof Window;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        WindowText.describe((Window) node, operator, expressions);
    }
}
