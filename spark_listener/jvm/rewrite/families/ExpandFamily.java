package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenExpand;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import scala.collection.immutable.Seq;

/**
 * Expand makes several rows of one, for grouping sets, several DISTINCT aggregates and UNPIVOT. Each of them comes from
 * one input row. One more hidden column has the number of the projection, so that a trace knows which values the row
 * has.
 */
public final class ExpandFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node.getClass() == Expand.class;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.check(node);
        Expand expand = (Expand) node;
        Rewritten child = rewriter.rewrite(expand.child());
        List<Seq<Expression>> projections = Scala.list(expand.projections());
        List<Seq<Expression>> renewed = new ArrayList<>();
        for (int i = 0; i < projections.size(); i++) {
            List<Expression> columns = Scala.list(projections.get(i));
            columns.addAll(child.attributes());
            columns.add(new Literal(Long.valueOf(i), DataTypes.LongType));
            renewed.add(Scala.seq(columns));
        }
        Attribute branch = new AttributeReference(
            "_headwater_branch", DataTypes.LongType, false, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.empty());
        List<Attribute> output = Scala.list(expand.output());
        output.addAll(child.attributes());
        output.add(branch);
        List<HiddenColumn> hidden = new ArrayList<>(child.hidden);
        hidden.add(new HiddenColumn(branch, operator, HiddenColumn.BRANCH));
        return new Rewritten(new HiddenExpand(Scala.seq(renewed), Scala.seq(output), child.plan, expand), hidden);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.BRANCHES;
    }

    public boolean describes(LogicalPlan node) {
        return node instanceof Expand;
    }

    /** Each column of an Expand that it does not merely pass on: the function `expand` over what each projection makes of it. */
    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        List<Attribute> output = Scala.list(node.output());
        List<List<Expression>> projections = new ArrayList<>(); // of lists: Scala's own look for a place from their beginning
        scala.collection.Iterator<Seq<Expression>> each = ((Expand) node).projections().iterator();
        while (each.hasNext()) {
            projections.add(Scala.list(each.next()));
        }
        List<Map<String, Object>> defines = new ArrayList<>();
        operator.put("defines", defines);
        if (!expressions.affords((long) output.size() * projections.size())) {
            return; // the description says that columns were left out
        }
        for (int i = 0; i < output.size(); i++) {
            Attribute column = output.get(i);
            List<Map<String, Object>> arguments = new ArrayList<>();
            boolean passes = true;
            for (List<Expression> projection : projections) {
                Expression made = projection.get(i);
                passes &= made instanceof Attribute attribute && attribute.exprId().equals(column.exprId());
                arguments.add(expressions.of(made));
            }
            if (!passes) {
                defines.add(OperatorText.choice("expand", column, arguments));
            }
        }
    }
}
