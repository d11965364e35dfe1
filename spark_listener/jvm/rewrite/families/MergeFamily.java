package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.collection.immutable.Seq;

/**
 * The part of MERGE, and of Spark's form of UPDATE, that processes the joined rows of a table and its source. An
 * updated row depends on both rows. An inserted row depends on the source's row. A row that is carried over depends on
 * the table's row only, even if a row of the source matched it.
 */
public final class MergeFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof MergeRows;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.check(node);
        MergeRows merge = (MergeRows) node;
        Rewritten child = rewriter.rewrite(merge.child());
        List<Attribute> output = Scala.list(merge.output());
        List<HiddenColumn> hidden = new ArrayList<>();
        for (HiddenColumn column : child.hidden) {
            HiddenColumn passed = HiddenColumn.nullable(column);
            output.add(passed.attribute);
            hidden.add(passed);
        }
        MergedSides sides = new MergedSides(merge, operator);
        Map<Object, Object> parts = new IdentityHashMap<>();
        parts.put(merge.matchedInstructions(), widened(merge.matchedInstructions(), child, sides));
        parts.put(merge.notMatchedInstructions(), widened(merge.notMatchedInstructions(), child, sides));
        parts.put(merge.notMatchedBySourceInstructions(), widened(merge.notMatchedBySourceInstructions(), child, sides));
        parts.put(merge.output(), Scala.seq(output));
        parts.put(merge.child(), child.plan);
        return new Rewritten(Nodes.<LogicalPlan>renewed(merge, parts), hidden);
    }

    private static Seq<Object> widened(Seq<MergeRows.Instruction> instructions, Rewritten child, MergedSides sides) {
        List<Object> result = new ArrayList<>();
        for (MergeRows.Instruction clause : Scala.list(instructions)) {
            List<Expression> references = sides.references(clause, child);
            Map<Object, Object> parts = new IdentityHashMap<>();
            for (Seq<Expression> seq : Scala.list(clause.outputs())) {
                List<Expression> columns = Scala.list(seq);
                columns.addAll(references);
                parts.put(seq, Scala.seq(columns));
            }
            result.add(parts.isEmpty() ? clause : Nodes.renewed((TreeNode<?>) clause, parts));
        }
        return Scala.seq(result);
    }

    public boolean describes(LogicalPlan node) {
        return node instanceof MergeRows;
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.GENERATES; // an update as a deletion and an insertion gives two rows
    }

    /** Each column: the function `merge` over what each clause makes of it (Spark adds one that carries rows over). */
    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        MergeRows merge = (MergeRows) node;
        List<MergeRows.Instruction> clauses = new ArrayList<>(Scala.list(merge.matchedInstructions()));
        clauses.addAll(Scala.list(merge.notMatchedInstructions()));
        clauses.addAll(Scala.list(merge.notMatchedBySourceInstructions()));
        List<Seq<Expression>> made = new ArrayList<>(); // one a row that a clause makes
        for (MergeRows.Instruction clause : clauses) {
            made.addAll(Scala.list(clause.outputs()));
        }
        List<Attribute> output = Scala.list(node.output());
        List<Map<String, Object>> defines = new ArrayList<>();
        for (int i = 0; i < output.size(); i++) {
            List<Map<String, Object>> arguments = new ArrayList<>();
            for (Seq<Expression> seq : made) {
                arguments.add(expressions.of(seq.apply(i)));
            }
            defines.add(OperatorText.choice("merge", output.get(i), arguments));
        }
        List<Map<String, Object>> conditions = new ArrayList<>();
        for (MergeRows.Instruction clause : clauses) {
            conditions.add(expressions.of(clause.condition()));
        }
        operator.put("conditions", conditions);
        operator.put("reads", OperatorText.reads(node)); // they decide which clause takes a row
        operator.put("defines", defines);
    }
}
