package headwater.rewrite.core;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** A place in the plan where associations are written (docs: capture format, section 2). */
public final class Boundary {
    public final int number;
    public final String kind;
    public final int operator;
    public LogicalPlan original; // for the comparison of subplans that Spark may run once for several places
    public final List<Map<String, Object>> columns = new ArrayList<>(); // role, operator, frame, attr
    public boolean placed; // of a sink: its rows' files are known when the write has been committed, and not to its tasks
    public int firstPartition; // what is added to the numbers of its tasks' partitions, where several queries write it
    public Map<String, Object> derived; // null: its rows are written; else what is known of finding them again
    public List<Expression> keys; // of derived matches and rows of semi-joins: of Expression, over the columns of their side
    public List<List<Number>> takes; // for chosen rows: the attributes of outputs, each with its way of choosing
    public List<Expression> left; // of matches below derived groups: the key of the left side, of Expression
    public List<Expression> values; // likewise, what is compared beyond the keys
    public Expression compared; // of a semi-join, over the attributes of its values; null: nothing is

    Boundary(int number, String kind, int operator, LogicalPlan original) {
        this.number = number;
        this.kind = kind;
        this.operator = operator;
        this.original = original;
    }

    /**
     * The plan and the key, which two recorded plans must have in common to run once. The columns that are computed
     * above do not matter.
     */
    public static LogicalPlan keyed(Expression key, LogicalPlan plan) {
        List<NamedExpression> columns = Scala.list(plan.output());
        columns.add(Rewriter.alias(key, "key"));
        return new Project(Scala.seq(columns), plan);
    }

    /** Nothing is written here: a trace finds the rows again, in about so many seconds. */
    public void derive(double seconds) {
        derived = new LinkedHashMap<>();
        derived.put("estimate_ms", seconds * 1000.0);
    }

    /** A column for each hidden one of the rows that are recorded here; adds their values. */
    public void hidden(Rewritten rows, List<Expression> values) {
        for (int i = 0; i < rows.hidden.size(); i++) {
            HiddenColumn column = rows.hidden.get(i);
            values.add(column.attribute);
            column(column.role, "operator", column.operator);
        }
    }

    public void column(String role, String name, long value) {
        Map<String, Object> column = new LinkedHashMap<>();
        column.put("role", role);
        if (name != null) {
            column.put(name, value);
        }
        columns.add(column);
    }
}
