package headwater.source;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;

/**
 * The local relations of a query as written. The optimizer evaluates projections, filters and limits over a local
 * relation, and the remaining relation has other rows. This class finds the original of each row.
 *
 * Filters and limits keep the row objects. A projection makes new rows in the same order, one for each. These rows are
 * found by the values of the columns that it passes on, if only one assignment is possible.
 */
public final class LocalRows {
    /** Rows that the optimizer left: the number of the relation as written, and each row's ordinal there. */
    public record Kept(int relation, long[] ordinals) {}

    private final List<List<InternalRow>> relations = new ArrayList<>(); // the rows of each, once however often the query uses it
    private final Map<Seq<InternalRow>, Integer> numbers = new IdentityHashMap<>(); // data of a relation -> Integer
    private final Map<InternalRow, long[]> places = new IdentityHashMap<>(); // row -> long[] {relation, ordinal}, or null where it stands twice
    private final Map<ExprId, Integer> owners = new HashMap<>(); // ExprId of a relation's column -> Integer
    private final Map<ExprId, Integer> columns = new HashMap<>(); // ExprId of a relation's column -> Integer, its place
    private final Map<ExprId, Expression> aliases = new HashMap<>();

    public LocalRows(LogicalPlan written) {
        visit(written);
    }

    /** Null if the rows cannot be found. */
    public Kept kept(LocalRelation relation) {
        List<InternalRow> rows = Scala.list(relation.data());
        Kept same = bySameRows(rows);
        return same == null ? byValues(relation, rows) : same;
    }

    private Kept bySameRows(List<InternalRow> rows) {
        long[] ordinals = new long[rows.size()];
        long number = -1L;
        for (int i = 0; i < ordinals.length; i++) {
            long[] place = places.get(rows.get(i));
            if (place == null || (i > 0 && place[0] != number)) {
                return null;
            }
            number = place[0];
            ordinals[i] = place[1];
        }
        return new Kept((int) number, ordinals);
    }

    private Kept byValues(LocalRelation relation, List<InternalRow> rows) {
        Set<Integer> found = new HashSet<>();
        List<Attribute> output = Scala.list(relation.output());
        for (Attribute column : output) {
            if (!collect(column, found, 0)) {
                return null;
            }
        }
        if (found.isEmpty() && relations.size() == 1) {
            found.add(0); // only constants are left of it
        }
        if (found.size() != 1) {
            return null;
        }
        int number = found.iterator().next();
        long[] ordinals = ordinals(output, rows, number);
        return ordinals == null ? null : new Kept(number, ordinals);
    }

    /** The places of rows in a relation, in the same order: the earliest places if the latest are the same, otherwise null. */
    private long[] ordinals(List<Attribute> output, List<InternalRow> rows, int number) {
        List<InternalRow> all = relations.get(number);
        long[] first = new long[rows.size()];
        int at = 0;
        for (int i = 0; i < first.length; i++) {
            while (at < all.size() && !alike(output, rows.get(i), all.get(at))) {
                at++;
            }
            first[i] = at++;
        }
        int last = all.size() - 1;
        for (int i = first.length - 1; i >= 0; i--) {
            while (last >= 0 && !alike(output, rows.get(i), all.get(last))) {
                last--;
            }
            if (last != first[i]) {
                return null;
            }
            last--;
        }
        return first;
    }

    /** Whether a row of the optimizer's has the values of one of the original, as far as columns were passed on. */
    private boolean alike(List<Attribute> output, InternalRow row, InternalRow original) {
        for (int i = 0; i < output.size(); i++) {
            Attribute column = output.get(i);
            Integer place = columns.get(column.exprId());
            if (place == null || !(column.dataType() instanceof AtomicType) || column.dataType() == DataTypes.BinaryType) {
                continue;
            }
            Object value = row.isNullAt(i) ? null : row.get(i, column.dataType());
            Object other = original.isNullAt(place) ? null : original.get(place, column.dataType());
            if (value == null ? other != null : !value.equals(other)) {
                return false;
            }
        }
        return true;
    }

    /** Adds the relations whose columns an attribute is made of; false if it is not known. */
    private boolean collect(Attribute attribute, Set<Integer> into, int depth) {
        Integer owner = owners.get(attribute.exprId());
        if (owner != null) {
            into.add(owner);
            return true;
        }
        Expression made = aliases.get(attribute.exprId());
        if (made == null || depth > 100) {
            return false;
        }
        for (Attribute column : Scala.list(made.references())) {
            if (!collect(column, into, depth + 1)) {
                return false;
            }
        }
        return true;
    }

    private void visit(LogicalPlan node) {
        if (node instanceof LocalRelation localRelation) {
            add(localRelation);
        }
        for (Expression expression : Scala.list(node.expressions())) {
            visit(expression);
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            visit(child);
        }
        for (QueryPlan<?> plan : Scala.list(node.innerChildren())) {
            if (plan instanceof LogicalPlan logicalPlan) {
                visit(logicalPlan);
            }
        }
    }

    private void visit(Expression expression) {
        if (expression instanceof Alias alias) {
            aliases.put(alias.exprId(), alias.child());
        }
        if (expression instanceof PlanExpression<?> subquery && subquery.plan() instanceof LogicalPlan logicalPlan) {
            visit(logicalPlan);
        }
        for (Expression child : Scala.list(expression.children())) {
            visit(child);
        }
    }

    private void add(LocalRelation relation) {
        Integer number = numbers.get(relation.data());
        if (number == null) {
            number = relations.size();
            List<InternalRow> rows = Scala.list(relation.data());
            numbers.put(relation.data(), number);
            relations.add(rows);
            for (int i = 0; i < rows.size(); i++) {
                boolean twice = places.containsKey(rows.get(i));
                places.put(rows.get(i), twice ? null : new long[] {number.intValue(), i});
            }
        }
        List<Attribute> output = Scala.list(relation.output());
        for (int i = 0; i < output.size(); i++) {
            owners.put(output.get(i).exprId(), number);
            columns.put(output.get(i).exprId(), i);
        }
    }
}
