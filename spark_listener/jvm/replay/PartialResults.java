package headwater.replay;

import headwater.shim.Scala;
import headwater.source.SourceFiles;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/**
 * Aggregates over a changed dataset, computed from the changed files and from partial results that an earlier refresh
 * kept of the unchanged files. A partial result has the aggregate's groups over the rows of one file. The groups of all
 * files are aggregated again. This requires that the result does not depend on the order of the rows: no sums of
 * floating-point numbers, no DISTINCT, no function of the program.
 */
final class PartialResults {
    private static final List<String> TYPES = Arrays.asList("IntegerType", "LongType", "ShortType", "ByteType", "BooleanType", "DateType", "TimestampType");
    // Digits of a decimal: Spark gives a sum ten more, up to 38. With fewer digits left, a sum may be too large, and is NULL outside of ANSI mode.
    private static final int MOST_DIGITS = 28;

    private final String folder;
    private final List<String> places; // of the changed datasets
    private final Notes notes;
    private final ThreadLocal<Boolean> isRunning = new ThreadLocal<>();

    /** Receives the number of files of a dataset, and of those that were not read. */
    interface Notes {
        void add(String dataset, int files, int reused);

        void addWhole(String dataset);
    }

    PartialResults(String folder, List<String> places, Notes notes) {
        this.folder = folder;
        this.places = places;
        this.notes = notes;
    }

    /** Whether this thread computes partial results now: their own plans are left as they are. */
    boolean isRunning() {
        return isRunning.get() != null;
    }

    /** Whether a path is a place of partial results. */
    boolean has(String path) {
        return path.startsWith(folder + "/");
    }

    LogicalPlan apply(LogicalPlan plan) {
        if (!ChangedScan.reads(plan, places)) {
            return plan;
        }
        LogicalPlan renewed = rewrite(plan);
        if (ChangedScan.reads(renewed, places)) {
            notes.addWhole(places.get(0));
        }
        return renewed;
    }

    private LogicalPlan rewrite(LogicalPlan plan) {
        List<LogicalPlan> children = Scala.list(plan.children());
        List<LogicalPlan> renewed = new ArrayList<>();
        boolean changed = false;
        for (LogicalPlan child : children) {
            LogicalPlan result = rewrite(child);
            changed |= result != child;
            renewed.add(result);
        }
        if (changed) {
            return plan.withNewChildren(Scala.seq(renewed));
        }
        return plan instanceof Aggregate aggregate ? rewriteAggregate(aggregate) : plan;
    }

    private LogicalPlan rewriteAggregate(Aggregate aggregate) {
        ChangedScan scan = ChangedScan.below(aggregate.child(), places);
        List<Expression> keys = Scala.list(aggregate.groupingExpressions());
        List<Expression> functions = new ArrayList<>();
        List<NamedExpression> outputs = Scala.list(aggregate.aggregateExpressions());
        for (NamedExpression output : outputs) {
            collect((Expression) output, functions);
        }
        if (scan == null || !areUsable(keys, functions)) {
            return aggregate;
        }
        SparkSession session = scan.relation.sparkSession();
        String digest = PlanText.digest(aggregate, scan.scan, session);
        return digest == null ? aggregate : merged(aggregate, keys, functions, outputs, scan, session, digest);
    }

    private static void collect(Expression expression, List<Expression> functions) {
        if (expression instanceof AggregateExpression) {
            functions.add(expression);
            return;
        }
        for (Expression child : Scala.list(expression.children())) {
            collect(child, functions);
        }
    }

    private static boolean areUsable(List<Expression> keys, List<Expression> functions) {
        for (Expression key : keys) {
            DataType type = key.dataType();
            if (!(type instanceof DecimalType) && !isPlain(type)) {
                return false;
            }
        }
        for (Expression expression : functions) {
            AggregateExpression function = (AggregateExpression) expression;
            if (function.isDistinct() || function.filter().isDefined() || !isUsable(function.aggregateFunction())) {
                return false;
            }
        }
        return true;
    }

    private static boolean isUsable(AggregateFunction function) {
        if (function instanceof Count) {
            return true;
        }
        if (!(function instanceof Sum || function instanceof Average || function instanceof Min || function instanceof Max)) {
            return false;
        }
        DataType type = function.children().head().dataType();
        if (type instanceof DecimalType decimalType) {
            boolean endsWithError = SQLConf.get().ansiEnabled() && !function.prettyName().startsWith("try_");
            return endsWithError || decimalType.precision() <= MOST_DIGITS;
        }
        String name = type.getClass().getSimpleName().replace("$", "");
        boolean isWhole = name.equals("ByteType") || name.equals("ShortType") || name.equals("IntegerType") || name.equals("LongType");
        if (function instanceof Average) { // of whole numbers it is a sum of floating-point numbers
            return false;
        }
        return isWhole || (!(function instanceof Sum) && isPlain(type));
    }

    /** A type with one value for equal values: no floating-point number, and no text of another collation than that by bytes. */
    private static boolean isPlain(DataType type) {
        boolean isText = type instanceof StringType;
        return isText ? type.equals(DataTypes.StringType) : TYPES.contains(type.getClass().getSimpleName().replace("$", ""));
    }

    private LogicalPlan merged(
            Aggregate aggregate, List<Expression> keys, List<Expression> functions, List<NamedExpression> outputs, ChangedScan scan, SparkSession session, String digest) {
        List<SourceFiles.Entry> entries = scan.files.entries();
        List<String> identities = new ArrayList<>();
        Map<String, Integer> ordinals = new HashMap<>();
        for (SourceFiles.Entry entry : entries) {
            identities.add(PlanText.identity(entry));
            ordinals.put(PlanText.identity(entry), entry.ordinal());
        }
        List<Alias> columns = partialColumns(keys, functions, scan.ordinal);
        PartialStore store = new PartialStore(folder, digest);
        isRunning.set(true);
        try {
            Map<String, Map<String, Integer>> saves = store.find(identities);
            Map<String, Integer> fresh = new HashMap<>(ordinals);
            for (Map<String, Integer> value : saves.values()) {
                fresh.keySet().removeAll(value.keySet());
            }
            notes.add(places.get(0), entries.size(), entries.size() - fresh.size());
            List<Expression> groupings = new ArrayList<>(keys);
            groupings.add(scan.ordinal);
            Set<Integer> chosen = new HashSet<>(fresh.values());
            Aggregate partial = new Aggregate(Scala.seq(groupings), Scala.seq(columns), scan.over(aggregate.child(), chosen), Scala.none());
            if (!fresh.isEmpty() || saves.isEmpty()) {
                saves.put(store.save(session, partial, fresh), fresh);
            }
            return over(aggregate, keys, functions, outputs, readSaves(store, saves, session, partial.schema()));
        } catch (IOException unreadable) {
            throw new IllegalStateException("Replay cannot use its partial results in " + folder + ": " + unreadable, unreadable);
        } finally {
            isRunning.remove();
        }
    }

    private static LogicalPlan readSaves(PartialStore store, Map<String, Map<String, Integer>> saves, SparkSession session, StructType schema) {
        List<Filter> parts = new ArrayList<>();
        for (Map.Entry<String, Map<String, Integer>> save : saves.entrySet()) {
            LogicalPlan rows = store.read(session, save.getKey(), schema);
            List<Attribute> output = Scala.list(rows.output());
            Set<Integer> wanted = new HashSet<>(save.getValue().values());
            parts.add(new Filter(new InSet((Expression) output.get(output.size() - 1), Scala.set(wanted)), rows));
        }
        return parts.size() == 1 ? (LogicalPlan) parts.get(0) : new Union(Scala.seq(parts), false, false);
    }

    /** Keys, then what each function needs, then the file. */
    private static List<Alias> partialColumns(List<Expression> keys, List<Expression> functions, Attribute ordinal) {
        List<Alias> columns = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            columns.add(alias(keys.get(i), "k" + i));
        }
        for (int i = 0; i < functions.size(); i++) {
            AggregateFunction function = ((AggregateExpression) functions.get(i)).aggregateFunction();
            if (function instanceof Average) {
                Expression argument = function.children().head();
                columns.add(alias(new Sum(argument).toAggregateExpression(), "s" + i));
                columns.add(alias(new Count(Scala.seq(argument)).toAggregateExpression(), "n" + i));
            } else {
                columns.add(alias(function.toAggregateExpression(), "a" + i));
            }
        }
        columns.add(alias(ordinal, "f"));
        return columns;
    }

    /** The aggregate over partial results: it has the same columns under the same ids. */
    private static LogicalPlan over(Aggregate aggregate, List<Expression> keys, List<Expression> functions, List<NamedExpression> outputs, LogicalPlan rows) {
        List<Attribute> columns = Scala.list(rows.output());
        List<Attribute> groupings = new ArrayList<>(columns.subList(0, keys.size()));
        List<Expression> values = new ArrayList<>();
        int next = keys.size();
        for (Expression expression : functions) {
            AggregateFunction function = ((AggregateExpression) expression).aggregateFunction();
            Expression first = columns.get(next++);
            values.add(function instanceof Average average ? average(average, first, (Expression) columns.get(next++)) : again(function, first));
        }
        List<Alias> renewed = new ArrayList<>();
        for (NamedExpression output : outputs) {
            Expression inner = output instanceof Alias alias ? alias.child() : (Expression) output;
            Expression value = replaced(inner, keys, groupings, functions, values);
            renewed.add(new Alias(value, output.name(), output.exprId(), output.qualifier(), Scala.none(), Scala.empty()));
        }
        return new Aggregate(Scala.seq(groupings), Scala.seq(renewed), rows, Scala.none());
    }

    private static Expression again(AggregateFunction function, Expression partial) {
        if (function instanceof Count) {
            Expression none = new Literal(0L, DataTypes.LongType);
            List<Expression> parts = new ArrayList<>(Arrays.asList(new Sum(partial).toAggregateExpression(), none));
            return new Coalesce(Scala.seq(parts)); // without a group there is one row, and it counts nothing
        }
        Expression merged = ((AggregateFunction) function.withNewChildren(Scala.seq(partial))).toAggregateExpression();
        return cast(merged, function.dataType());
    }

    private static Expression average(Average function, Expression sum, Expression count) {
        List<Expression> buffers = Scala.list(function.aggBufferAttributes());
        List<Expression> values = new ArrayList<>();
        values.add(cast(new Sum(sum).toAggregateExpression(), buffers.get(0).dataType()));
        List<Expression> parts = new ArrayList<>(Arrays.asList(new Sum(count).toAggregateExpression(), new Literal(0L, DataTypes.LongType)));
        values.add(new Coalesce(Scala.seq(parts)));
        return replaced(function.evaluateExpression(), new ArrayList<>(), new ArrayList<>(), buffers, values);
    }

    private static Expression cast(Expression value, DataType type) {
        return value.dataType().equals(type) ? value : Cast$.MODULE$.apply(value, type, false);
    }

    /** An expression with its keys and functions replaced by what stands for them. */
    private static Expression replaced(Expression expression, List<Expression> keys, List<Attribute> groupings, List<Expression> functions, List<Expression> values) {
        for (int i = 0; i < functions.size(); i++) {
            if (functions.get(i).fastEquals(expression)) {
                return values.get(i);
            }
        }
        for (int i = 0; i < keys.size(); i++) {
            if (keys.get(i).semanticEquals(expression)) {
                return groupings.get(i);
            }
        }
        List<Expression> children = Scala.list(expression.children());
        List<Expression> renewed = new ArrayList<>();
        boolean changed = false;
        for (Expression child : children) {
            Expression result = replaced(child, keys, groupings, functions, values);
            changed |= result != child;
            renewed.add(result);
        }
        return changed ? expression.withNewChildren(Scala.seq(renewed)) : expression;
    }

    private static Alias alias(Expression value, String name) {
        return new Alias(value, name, NamedExpression$.MODULE$.newExprId(), Scala.empty(), Scala.none(), Scala.empty());
    }
}
