package headwater.text;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryOperator;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FrameLessOffsetWindowFunction;
import org.apache.spark.sql.catalyst.expressions.GetArrayStructFields;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NthValue;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.First;
import org.apache.spark.sql.catalyst.expressions.aggregate.Last;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

/** Expressions as the manifest has them. Total: what is not known by kind is described by Spark's own name for it. */
public final class ExpressionText {
    private static final int MOST = 50000; // nodes a plan; beyond, an expression has the columns that it reads as arguments, and `truncated` is set
    private static final int DEEPEST = 64; // levels, likewise; each is two levels of JSON, and the intake takes 150 (backend/ingest/intake/scan.py)

    private static final String WRAPPERS = " ScalaUDF ScalaUDAF ScalaAggregator V2Aggregator ApplyFunctionExpression PythonUDAF "
        + "SimpleTypedAggregateExpression ComplexTypedAggregateExpression HiveSimpleUDF HiveGenericUDF HiveUDAFFunction ";

    private final Map definitions = new HashMap(); // Long id of a common table expression -> LogicalPlan
    private final Pivots pivots = new Pivots();
    private int nodes;
    private long most = Long.MAX_VALUE; // columns and expressions that are described; beyond, operators are told by name alone
    private long described;
    private int depth; // of the expression that is described now
    private final Map taken = new IdentityHashMap(); // what DistinctGroups found of aggregates below the one that is described
    private DistinctGroups groups = new DistinctGroups(taken); // of that one

    /** Describes so many columns and expressions at most. For a plan whose columns alone are asked for: a trace needs all of them. */
    public void bound(long most) {
        this.most = most;
    }

    /** Whether so many more columns may be described. Once they may not, nothing more may. */
    public boolean affords(long columns) {
        boolean affords = described + columns <= most;
        described = affords ? described : Long.MAX_VALUE / 2L;
        return affords;
    }

    /** Whether all are described, however many. */
    public boolean isUnbound() {
        return most == Long.MAX_VALUE;
    }

    /** Columns that were described; expressions count themselves. */
    public void count(long columns) {
        described += columns;
    }

    /** Looks for the columns of pivots in a plan that is going to be described. */
    public void find(LogicalPlan plan) {
        pivots.find(plan);
    }

    /** The aggregate that is described next: its functions may stand for DISTINCT ones. */
    public void enter(Aggregate aggregate) {
        groups = DistinctGroups.under(aggregate, taken);
    }

    /** The made-up columns of an aggregate that keeps one row of each value of a DISTINCT function above it. */
    public List distinctRows(Aggregate aggregate) {
        return DistinctGroups.columns(aggregate, taken, this);
    }

    /** Whether a column is the array that a pivot is made of. */
    boolean isPivot(NamedExpression column) {
        return pivots.isArray(column);
    }

    /** The columns that a pivot takes out of its array. */
    List pivoted(NamedExpression column) {
        return pivots.columns(column, this);
    }

    /** A common table expression that expressions may read. */
    public void define(CTERelationDef definition) {
        definitions.put(Long.valueOf(definition.id()), definition.child());
    }

    /** Of scalar subqueries that Spark merged into one, a field of its struct is the column that the field is made of; else null. */
    private Expression merged(Expression expression) {
        if (!(expression instanceof GetStructField) || !(((GetStructField) expression).child() instanceof ScalarSubquery)) {
            return null;
        }
        List values = values((LogicalPlan) ((ScalarSubquery) ((GetStructField) expression).child()).plan());
        int place = ((GetStructField) expression).ordinal();
        return place < values.size() && values.get(place) instanceof Attribute ? (Expression) values.get(place) : null;
    }

    /** The columns that the fields of merged subqueries are made of. */
    public List fields(LogicalPlan plan) {
        List result = new ArrayList();
        List values = values(plan);
        for (int i = 0; i < values.size(); i++) {
            if (values.get(i) instanceof Attribute) {
                result.add(OperatorText.named((Attribute) values.get(i)));
            }
        }
        return result;
    }

    private List values(LogicalPlan plan) {
        Object defined = plan instanceof CTERelationRef ? definitions.get(Long.valueOf(((CTERelationRef) plan).cteId())) : null;
        List columns = defined instanceof Project ? Scala.list(((Project) defined).projectList()) : new ArrayList();
        Expression only = columns.size() == 1 && columns.get(0) instanceof Alias ? ((Alias) columns.get(0)).child() : null;
        return only instanceof CreateNamedStruct ? Scala.list(((CreateNamedStruct) only).valExprs()) : new ArrayList();
    }

    /** The outermost expression, with Spark's own text. */
    public Map outermost(Expression expression) {
        Expression bare = expression instanceof Alias ? ((Alias) expression).child() : expression;
        Map result = of(bare);
        try {
            result.put("sql", bare.sql());
        } catch (RuntimeException none) {
            result.put("sql", bare.toString()); // some internal expressions have no SQL
        }
        return result;
    }

    public Map of(Expression expression) {
        described++;
        if (expression instanceof Alias) {
            return of(((Alias) expression).child());
        }
        if (expression instanceof WindowExpression) {
            return of(((WindowExpression) expression).windowFunction()); // its frame is told beside it
        }
        Expression field = merged(expression);
        if (field != null) {
            return of(field);
        }
        if (expression instanceof ScalarSubquery) {
            return of((Expression) ((LogicalPlan) ((ScalarSubquery) expression).plan()).output().apply(0)); // what it reads is that column
        }
        Map element = pivots.element(expression, this);
        if (element != null) {
            return element;
        }
        Map result = new LinkedHashMap();
        if (expression instanceof AggregateExpression) {
            AggregateExpression aggregate = (AggregateExpression) expression;
            result.putAll(of((Expression) aggregate.aggregateFunction()));
            result.put("aggregate", Boolean.TRUE);
            if (aggregate.isDistinct() || groups.take(aggregate)) {
                result.put("distinct", Boolean.TRUE);
            }
            Long rows = groups.rows(aggregate);
            if (rows != null) {
                result.put("rows", rows);
            }
            if (aggregate.filter().isDefined()) {
                result.put("filter", of((Expression) aggregate.filter().get()));
            }
            return result;
        }
        result.put("fn", name(expression));
        if (isUsers(expression)) {
            result.put("name", expression.prettyName());
        }
        if (expression instanceof Attribute) {
            result.put("attr", Long.valueOf(((Attribute) expression).exprId().id()));
            result.put("name", ((Attribute) expression).name());
        } else if (expression instanceof Literal) {
            Object value = ((Literal) expression).value();
            result.put("value", value == null ? null : expression.toString());
        } else if (expression instanceof GetStructField) {
            result.put("field", ((GetStructField) expression).extractFieldName());
        } else if (expression instanceof GetArrayStructFields) {
            result.put("field", ((GetArrayStructFields) expression).field().name());
        } else if (expression instanceof PythonUDF) {
            result.put("name", ((PythonUDF) expression).name());
        }
        List arguments = new ArrayList();
        if (++nodes > MOST || depth >= DEEPEST) {
            result.put("truncated", Boolean.TRUE);
            if (!(expression instanceof Attribute || expression instanceof Literal)) {
                result.put("fn", "truncated"); // so that nobody computes with what are no arguments of its own
                read(expression, arguments);
            }
        } else {
            List children = Scala.list(expression.children());
            for (int i = 0; i < children.size(); i++) {
                depth++;
                try {
                    arguments.add(of((Expression) children.get(i)));
                } finally {
                    depth--;
                }
            }
            if (expression instanceof Like && ((Like) expression).escapeChar() != '\\') {
                arguments.add(of(new Literal(UTF8String.fromString(String.valueOf(((Like) expression).escapeChar())), DataTypes.StringType)));
            }
        }
        if (!arguments.isEmpty() || !(expression instanceof Attribute || expression instanceof Literal)) {
            result.put("args", arguments);
        }
        if (ignoresNulls(expression)) {
            result.put("ignore_nulls", Boolean.TRUE);
        }
        String type = type(expression);
        if (type != null) {
            result.put("type", type);
        }
        return result;
    }

    /** The columns that an expression reads, each once. */
    private static void read(Expression expression, List arguments) {
        List attributes = Scala.list(expression.references());
        for (int i = 0; i < attributes.size(); i++) {
            Map column = OperatorText.named((Attribute) attributes.get(i));
            column.put("fn", "attr");
            arguments.add(column);
        }
    }

    /** Whether a function takes the first, last or n-th value that is not null: its SQL does not tell. */
    private static boolean ignoresNulls(Expression expression) {
        return (expression instanceof First && ((First) expression).ignoreNulls())
            || (expression instanceof Last && ((Last) expression).ignoreNulls())
            || (expression instanceof NthValue && ((NthValue) expression).ignoreNulls())
            || (expression instanceof FrameLessOffsetWindowFunction && ((FrameLessOffsetWindowFunction) expression).ignoreNulls());
    }

    /** Whether a function is not Spark's own but one that a user has written, in whatever wrapper Spark holds it. */
    private static boolean isUsers(Expression expression) {
        String name = expression.getClass().getName();
        return !name.startsWith("org.apache.spark.sql.") || WRAPPERS.contains(" " + name.substring(name.lastIndexOf('.') + 1) + " ");
    }

    private static String name(Expression expression) {
        if (expression instanceof Attribute) {
            return "attr";
        }
        if (expression instanceof Literal) {
            return "literal";
        }
        if (expression instanceof PythonUDF) {
            return "python_udf";
        }
        if (isUsers(expression)) {
            return "user_function"; // it may be called as one of Spark's own is
        }
        if (expression instanceof BinaryOperator) {
            return ((BinaryOperator) expression).symbol().toLowerCase(java.util.Locale.ROOT);
        }
        return expression.prettyName().toLowerCase(java.util.Locale.ROOT);
    }

    /** Spark's DDL of the expression's type; null where it has none. */
    static String type(Expression expression) {
        try {
            return expression.dataType().catalogString();
        } catch (RuntimeException none) {
            return null;
        }
    }
}
