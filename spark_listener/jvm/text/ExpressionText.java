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

    private final Map<Long, LogicalPlan> definitions = new HashMap<>(); // Long id of a common table expression -> LogicalPlan
    private final Pivots pivots = new Pivots();
    private int nodes;
    private long most = Long.MAX_VALUE; // limit of described columns and expressions. Further operators have only a name
    private long described;
    private int depth; // of the expression that is described now
    private final Map<Aggregate, Map<Object, Object[]>> taken = new IdentityHashMap<>(); // what DistinctGroups found of aggregates below the one that is described
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
    public List<Map<String, Object>> distinctRows(Aggregate aggregate) {
        return DistinctGroups.columns(aggregate, taken, this);
    }

    /** Whether a column is the array that a pivot is made of. */
    boolean isPivot(NamedExpression column) {
        return pivots.isArray(column);
    }

    /** The columns that a pivot takes out of its array. */
    List<Map<String, Object>> pivoted(NamedExpression column) {
        return pivots.columns(column, this);
    }

    /** A common table expression that expressions may read. */
    public void define(CTERelationDef definition) {
        definitions.put(definition.id(), definition.child());
    }

    /** The column that a field of merged scalar subqueries is computed from, or null. */
    private Expression merged(Expression expression) {
        if (!(expression instanceof GetStructField getStructField) || !(getStructField.child() instanceof ScalarSubquery scalarSubquery)) {
            return null;
        }
        List<Expression> values = values(scalarSubquery.plan());
        int place = getStructField.ordinal();
        return place < values.size() && values.get(place) instanceof Attribute ? values.get(place) : null;
    }

    /** The columns that the fields of merged subqueries are made of. */
    public List<Map<String, Object>> fields(LogicalPlan plan) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (Expression value : values(plan)) {
            if (value instanceof Attribute attribute) {
                result.add(OperatorText.named(attribute));
            }
        }
        return result;
    }

    private List<Expression> values(LogicalPlan plan) {
        Object defined = plan instanceof CTERelationRef reference ? definitions.get(reference.cteId()) : null;
        List<NamedExpression> columns = defined instanceof Project project ? Scala.list(project.projectList()) : new ArrayList<>();
        Expression only = columns.size() == 1 && columns.get(0) instanceof Alias alias ? alias.child() : null;
        return only instanceof CreateNamedStruct createNamedStruct ? Scala.list(createNamedStruct.valExprs()) : new ArrayList<>();
    }

    /** The outermost expression, with Spark's own text. */
    public Map<String, Object> outermost(Expression expression) {
        Expression bare = expression instanceof Alias alias ? alias.child() : expression;
        Map<String, Object> result = of(bare);
        try {
            result.put("sql", bare.sql());
        } catch (RuntimeException none) {
            result.put("sql", bare.toString()); // some internal expressions have no SQL
        }
        return result;
    }

    public Map<String, Object> of(Expression expression) {
        described++;
        if (expression instanceof Alias alias) {
            return of(alias.child());
        }
        if (expression instanceof WindowExpression windowExpression) {
            return of(windowExpression.windowFunction()); // its frame is described separately
        }
        Expression field = merged(expression);
        if (field != null) {
            return of(field);
        }
        if (expression instanceof ScalarSubquery scalarSubquery) {
            return of((Expression) scalarSubquery.plan().output().apply(0)); // what it reads is that column
        }
        Map<String, Object> element = pivots.element(expression, this);
        if (element != null) {
            return element;
        }
        Map<String, Object> result = new LinkedHashMap<>();
        if (expression instanceof AggregateExpression aggregate) {
            result.putAll(of((Expression) aggregate.aggregateFunction()));
            result.put("aggregate", true);
            if (aggregate.isDistinct() || groups.take(aggregate)) {
                result.put("distinct", true);
            }
            Long rows = groups.rows(aggregate);
            if (rows != null) {
                result.put("rows", rows);
            }
            if (aggregate.filter().isDefined()) {
                result.put("filter", of(aggregate.filter().get()));
            }
            return result;
        }
        result.put("fn", name(expression));
        if (isUsers(expression)) {
            result.put("name", expression.prettyName());
        }
        if (expression instanceof Attribute attribute) {
            result.put("attr", attribute.exprId().id());
            result.put("name", attribute.name());
        } else if (expression instanceof Literal literal) {
            Object value = literal.value();
            result.put("value", value == null ? null : expression.toString());
        } else if (expression instanceof GetStructField getStructField) {
            result.put("field", getStructField.extractFieldName());
        } else if (expression instanceof GetArrayStructFields getArrayStructFields) {
            result.put("field", getArrayStructFields.field().name());
        } else if (expression instanceof PythonUDF function) {
            result.put("name", function.name());
        }
        List<Map<String, Object>> arguments = new ArrayList<>();
        if (++nodes > MOST || depth >= DEEPEST) {
            result.put("truncated", true);
            if (!(expression instanceof Attribute || expression instanceof Literal)) {
                result.put("fn", "truncated"); // so that nobody computes with what are no arguments of its own
                read(expression, arguments);
            }
        } else {
            for (Expression child : Scala.list(expression.children())) {
                depth++;
                try {
                    arguments.add(of(child));
                } finally {
                    depth--;
                }
            }
            if (expression instanceof Like like && like.escapeChar() != '\\') {
                arguments.add(of(new Literal(UTF8String.fromString(String.valueOf(like.escapeChar())), DataTypes.StringType)));
            }
        }
        if (!arguments.isEmpty() || !(expression instanceof Attribute || expression instanceof Literal)) {
            result.put("args", arguments);
        }
        if (ignoresNulls(expression)) {
            result.put("ignore_nulls", true);
        }
        String type = type(expression);
        if (type != null) {
            result.put("type", type);
        }
        return result;
    }

    /** The columns that an expression reads, each once. */
    private static void read(Expression expression, List<Map<String, Object>> arguments) {
        for (Attribute attribute : Scala.list(expression.references())) {
            Map<String, Object> column = OperatorText.named(attribute);
            column.put("fn", "attr");
            arguments.add(column);
        }
    }

    /** Whether a function takes the first, last or n-th value that is not null. Its SQL does not contain that. */
    private static boolean ignoresNulls(Expression expression) {
        return (expression instanceof First first && first.ignoreNulls())
            || (expression instanceof Last last && last.ignoreNulls())
            || (expression instanceof NthValue nthValue && nthValue.ignoreNulls())
            || (expression instanceof FrameLessOffsetWindowFunction frameLessOffsetWindowFunction && frameLessOffsetWindowFunction.ignoreNulls());
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
        if (expression instanceof BinaryOperator binaryOperator) {
            return binaryOperator.symbol().toLowerCase(java.util.Locale.ROOT);
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
