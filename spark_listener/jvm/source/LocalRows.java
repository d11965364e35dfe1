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
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The local relations of a query as written. The optimizer evaluates projections, filters and limits over a local relation by itself, so
 * that the relation that it leaves has other rows; this tells which rows of the original they are.
 *
 * Filters and limits keep the row objects. A projection makes new ones in the same order, one for each: so they are told by the values of
 * the columns that it passes on, if there is one way only in which they can have been kept.
 */
public final class LocalRows {
    /** Rows that the optimizer left: the number of the relation as written, and each row's ordinal there. */
    public static final class Kept {
        public final int relation;
        public final long[] ordinals;

        Kept(int relation, long[] ordinals) {
            this.relation = relation;
            this.ordinals = ordinals;
        }
    }

    private final List relations = new ArrayList(); // of List, the rows of each, once however often the query uses it
    private final Map numbers = new IdentityHashMap(); // data of a relation -> Integer
    private final Map places = new IdentityHashMap(); // row -> long[] {relation, ordinal}, or null where it stands twice
    private final Map owners = new HashMap(); // ExprId of a relation's column -> Integer
    private final Map columns = new HashMap(); // ExprId of a relation's column -> Integer, its place
    private final Map aliases = new HashMap(); // ExprId -> Expression

    public LocalRows(LogicalPlan written) {
        visit(written);
    }

    /** Null: it cannot be told. */
    public Kept kept(LocalRelation relation) {
        List rows = Scala.list(relation.data());
        Kept same = bySameRows(rows);
        return same == null ? byValues(relation, rows) : same;
    }

    private Kept bySameRows(List rows) {
        long[] ordinals = new long[rows.size()];
        long number = -1L;
        for (int i = 0; i < ordinals.length; i++) {
            long[] place = (long[]) places.get(rows.get(i));
            if (place == null || (i > 0 && place[0] != number)) {
                return null;
            }
            number = place[0];
            ordinals[i] = place[1];
        }
        return new Kept((int) number, ordinals);
    }

    private Kept byValues(LocalRelation relation, List rows) {
        Set found = new HashSet();
        List output = Scala.list(relation.output());
        for (int i = 0; i < output.size(); i++) {
            if (!collect((Attribute) output.get(i), found, 0)) {
                return null;
            }
        }
        if (found.isEmpty() && relations.size() == 1) {
            found.add(Integer.valueOf(0)); // only constants are left of it
        }
        if (found.size() != 1) {
            return null;
        }
        int number = ((Integer) found.iterator().next()).intValue();
        long[] ordinals = ordinals(output, rows, number);
        return ordinals == null ? null : new Kept(number, ordinals);
    }

    /** Where rows stand in a relation, in the same order: the earliest places, if the latest are the same; else null. */
    private long[] ordinals(List output, List rows, int number) {
        List all = (List) relations.get(number);
        long[] first = new long[rows.size()];
        int at = 0;
        for (int i = 0; i < first.length; i++) {
            while (at < all.size() && !alike(output, (InternalRow) rows.get(i), (InternalRow) all.get(at))) {
                at++;
            }
            first[i] = at++;
        }
        int last = all.size() - 1;
        for (int i = first.length - 1; i >= 0; i--) {
            while (last >= 0 && !alike(output, (InternalRow) rows.get(i), (InternalRow) all.get(last))) {
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
    private boolean alike(List output, InternalRow row, InternalRow original) {
        for (int i = 0; i < output.size(); i++) {
            Attribute column = (Attribute) output.get(i);
            Integer place = (Integer) columns.get(column.exprId());
            if (place == null || !(column.dataType() instanceof AtomicType) || column.dataType() == DataTypes.BinaryType) {
                continue;
            }
            Object value = row.isNullAt(i) ? null : row.get(i, column.dataType());
            Object other = original.isNullAt(place.intValue()) ? null : original.get(place.intValue(), column.dataType());
            if (value == null ? other != null : !value.equals(other)) {
                return false;
            }
        }
        return true;
    }

    /** Adds the relations whose columns an attribute is made of; false if it is not known. */
    private boolean collect(Attribute attribute, Set into, int depth) {
        Integer owner = (Integer) owners.get(attribute.exprId());
        if (owner != null) {
            into.add(owner);
            return true;
        }
        Expression made = (Expression) aliases.get(attribute.exprId());
        if (made == null || depth > 100) {
            return false;
        }
        List read = Scala.list(made.references());
        for (int i = 0; i < read.size(); i++) {
            if (!collect((Attribute) read.get(i), into, depth + 1)) {
                return false;
            }
        }
        return true;
    }

    private void visit(LogicalPlan node) {
        if (node instanceof LocalRelation) {
            add((LocalRelation) node);
        }
        List expressions = Scala.list(node.expressions());
        for (int i = 0; i < expressions.size(); i++) {
            visit((Expression) expressions.get(i));
        }
        List children = Scala.list(node.children());
        for (int i = 0; i < children.size(); i++) {
            visit((LogicalPlan) children.get(i));
        }
        List inner = Scala.list(node.innerChildren());
        for (int i = 0; i < inner.size(); i++) {
            if (inner.get(i) instanceof LogicalPlan) {
                visit((LogicalPlan) inner.get(i));
            }
        }
    }

    private void visit(Expression expression) {
        if (expression instanceof Alias) {
            aliases.put(((Alias) expression).exprId(), ((Alias) expression).child());
        }
        if (expression instanceof PlanExpression && ((PlanExpression) expression).plan() instanceof LogicalPlan) {
            visit((LogicalPlan) ((PlanExpression) expression).plan());
        }
        List children = Scala.list(expression.children());
        for (int i = 0; i < children.size(); i++) {
            visit((Expression) children.get(i));
        }
    }

    private void add(LocalRelation relation) {
        Integer number = (Integer) numbers.get(relation.data());
        if (number == null) {
            number = Integer.valueOf(relations.size());
            List rows = Scala.list(relation.data());
            numbers.put(relation.data(), number);
            relations.add(rows);
            for (int i = 0; i < rows.size(); i++) {
                boolean twice = places.containsKey(rows.get(i));
                places.put(rows.get(i), twice ? null : new long[] {number.intValue(), i});
            }
        }
        List output = Scala.list(relation.output());
        for (int i = 0; i < output.size(); i++) {
            owners.put(((Attribute) output.get(i)).exprId(), number);
            columns.put(((Attribute) output.get(i)).exprId(), Integer.valueOf(i));
        }
    }
}
