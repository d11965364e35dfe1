package headwater.replay;

import headwater.shim.Scala;
import headwater.source.SourceFiles;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
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
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/**
 * Aggregates over a changed dataset, computed from what an earlier refresh kept of each unchanged file, and from the changed files. A partial
 * result is the aggregate's groups over the rows of one file; groups of all files together are aggregated again. This is done only where the
 * result is the very same in any order of the rows: no sums of floating-point numbers, nothing distinct, no function of the program.
 */
final class PartialResults {
    private static final List TYPES = Arrays.asList("IntegerType", "LongType", "ShortType", "ByteType", "BooleanType", "DateType", "TimestampType");
    // Digits of a decimal: Spark gives a sum ten more, up to 38. With fewer digits left, a sum may be too large, and is NULL outside of ANSI mode.
    private static final int MOST_DIGITS = 28;

    private final String folder;
    private final List places; // of the changed datasets
    private final Notes notes;
    private final ThreadLocal isRunning = new ThreadLocal();

    /** Who hears how many files of a dataset were read, and how many were not. */
    interface Notes {
        void add(String dataset, int files, int reused);

        void addWhole(String dataset);
    }

    PartialResults(String folder, List places, Notes notes) {
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
            notes.addWhole((String) places.get(0));
        }
        return renewed;
    }

    private LogicalPlan rewrite(LogicalPlan plan) {
        List children = Scala.list(plan.children());
        List renewed = new ArrayList();
        boolean changed = false;
        for (int i = 0; i < children.size(); i++) {
            LogicalPlan child = (LogicalPlan) children.get(i);
            LogicalPlan result = rewrite(child);
            changed |= result != child;
            renewed.add(result);
        }
        if (changed) {
            return (LogicalPlan) plan.withNewChildren(Scala.seq(renewed));
        }
        return plan instanceof Aggregate ? rewriteAggregate((Aggregate) plan) : plan;
    }

    private LogicalPlan rewriteAggregate(Aggregate aggregate) {
        ChangedScan scan = ChangedScan.below(aggregate.child(), places);
        List keys = Scala.list(aggregate.groupingExpressions());
        List functions = new ArrayList();
        List outputs = Scala.list(aggregate.aggregateExpressions());
        for (int i = 0; i < outputs.size(); i++) {
            collect((Expression) outputs.get(i), functions);
        }
        if (scan == null || !areUsable(keys, functions)) {
            return aggregate;
        }
        SparkSession session = (SparkSession) scan.relation.sparkSession();
        String digest = PlanText.digest(aggregate, scan.scan, session);
        return digest == null ? aggregate : merged(aggregate, keys, functions, outputs, scan, session, digest);
    }

    private static void collect(Expression expression, List functions) {
        if (expression instanceof AggregateExpression) {
            functions.add(expression);
            return;
        }
        List children = Scala.list(expression.children());
        for (int i = 0; i < children.size(); i++) {
            collect((Expression) children.get(i), functions);
        }
    }

    private static boolean areUsable(List keys, List functions) {
        for (int i = 0; i < keys.size(); i++) {
            DataType type = ((Expression) keys.get(i)).dataType();
            if (!(type instanceof DecimalType) && !isPlain(type)) {
                return false;
            }
        }
        for (int i = 0; i < functions.size(); i++) {
            AggregateExpression function = (AggregateExpression) functions.get(i);
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
        DataType type = ((Expression) function.children().head()).dataType();
        if (type instanceof DecimalType) {
            boolean endsWithError = SQLConf.get().ansiEnabled() && !function.prettyName().startsWith("try_");
            return endsWithError || ((DecimalType) type).precision() <= MOST_DIGITS;
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
            Aggregate aggregate, List keys, List functions, List outputs, ChangedScan scan, SparkSession session, String digest) {
        List entries = scan.files.entries();
        List identities = new ArrayList();
        Map ordinals = new HashMap();
        for (int i = 0; i < entries.size(); i++) {
            SourceFiles.Entry entry = (SourceFiles.Entry) entries.get(i);
            identities.add(PlanText.identity(entry));
            ordinals.put(PlanText.identity(entry), Integer.valueOf(entry.ordinal));
        }
        List columns = partialColumns(keys, functions, scan.ordinal);
        PartialStore store = new PartialStore(folder, digest);
        isRunning.set(Boolean.TRUE);
        try {
            Map saves = store.find(identities);
            Map fresh = new HashMap(ordinals);
            for (Iterator each = saves.values().iterator(); each.hasNext();) {
                fresh.keySet().removeAll(((Map) each.next()).keySet());
            }
            notes.add((String) places.get(0), entries.size(), entries.size() - fresh.size());
            List groupings = new ArrayList(keys);
            groupings.add(scan.ordinal);
            Set chosen = new HashSet(fresh.values());
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

    private static LogicalPlan readSaves(PartialStore store, Map saves, SparkSession session, StructType schema) {
        List parts = new ArrayList();
        for (Iterator each = saves.entrySet().iterator(); each.hasNext();) {
            Map.Entry save = (Map.Entry) each.next();
            LogicalPlan rows = store.read(session, (String) save.getKey(), schema);
            List output = Scala.list(rows.output());
            Set wanted = new HashSet(((Map) save.getValue()).values());
            parts.add(new Filter(new InSet((Expression) output.get(output.size() - 1), Scala.set(wanted)), rows));
        }
        return parts.size() == 1 ? (LogicalPlan) parts.get(0) : new Union(Scala.seq(parts), false, false);
    }

    /** Keys, then what each function needs, then the file. */
    private static List partialColumns(List keys, List functions, Attribute ordinal) {
        List columns = new ArrayList();
        for (int i = 0; i < keys.size(); i++) {
            columns.add(alias((Expression) keys.get(i), "k" + i));
        }
        for (int i = 0; i < functions.size(); i++) {
            AggregateFunction function = ((AggregateExpression) functions.get(i)).aggregateFunction();
            if (function instanceof Average) {
                Expression argument = (Expression) function.children().head();
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
    private static LogicalPlan over(Aggregate aggregate, List keys, List functions, List outputs, LogicalPlan rows) {
        List columns = Scala.list(rows.output());
        List groupings = new ArrayList(columns.subList(0, keys.size()));
        List values = new ArrayList();
        int next = keys.size();
        for (int i = 0; i < functions.size(); i++) {
            AggregateFunction function = ((AggregateExpression) functions.get(i)).aggregateFunction();
            Expression first = (Expression) columns.get(next++);
            values.add(function instanceof Average ? average((Average) function, first, (Expression) columns.get(next++)) : again(function, first));
        }
        List renewed = new ArrayList();
        for (int i = 0; i < outputs.size(); i++) {
            NamedExpression output = (NamedExpression) outputs.get(i);
            Expression inner = output instanceof Alias ? ((Alias) output).child() : (Expression) output;
            Expression value = replaced(inner, keys, groupings, functions, values);
            renewed.add(new Alias(value, output.name(), output.exprId(), output.qualifier(), Scala.none(), Scala.empty()));
        }
        return new Aggregate(Scala.seq(groupings), Scala.seq(renewed), rows, Scala.none());
    }

    private static Expression again(AggregateFunction function, Expression partial) {
        if (function instanceof Count) {
            Expression none = new Literal(Long.valueOf(0L), DataTypes.LongType);
            List parts = new ArrayList(Arrays.asList(new Sum(partial).toAggregateExpression(), none));
            return new Coalesce(Scala.seq(parts)); // without a group there is one row, and it counts nothing
        }
        Expression merged = ((AggregateFunction) function.withNewChildren(Scala.seq(partial))).toAggregateExpression();
        return cast(merged, function.dataType());
    }

    private static Expression average(Average function, Expression sum, Expression count) {
        List buffers = Scala.list(function.aggBufferAttributes());
        List values = new ArrayList();
        values.add(cast(new Sum(sum).toAggregateExpression(), ((Expression) buffers.get(0)).dataType()));
        List parts = new ArrayList(Arrays.asList(new Sum(count).toAggregateExpression(), new Literal(Long.valueOf(0L), DataTypes.LongType)));
        values.add(new Coalesce(Scala.seq(parts)));
        return replaced(function.evaluateExpression(), new ArrayList(), new ArrayList(), buffers, values);
    }

    private static Expression cast(Expression value, DataType type) {
        return value.dataType().equals(type) ? value : Cast$.MODULE$.apply(value, type, false);
    }

    /** An expression with its keys and functions replaced by what stands for them. */
    private static Expression replaced(Expression expression, List keys, List groupings, List functions, List values) {
        for (int i = 0; i < functions.size(); i++) {
            if (((Expression) functions.get(i)).fastEquals(expression)) {
                return (Expression) values.get(i);
            }
        }
        for (int i = 0; i < keys.size(); i++) {
            if (((Expression) keys.get(i)).semanticEquals(expression)) {
                return (Expression) groupings.get(i);
            }
        }
        List children = Scala.list(expression.children());
        List renewed = new ArrayList();
        boolean changed = false;
        for (int i = 0; i < children.size(); i++) {
            Expression child = (Expression) children.get(i);
            Expression result = replaced(child, keys, groupings, functions, values);
            changed |= result != child;
            renewed.add(result);
        }
        return changed ? (Expression) expression.withNewChildren(Scala.seq(renewed)) : expression;
    }

    private static Alias alias(Expression value, String name) {
        return new Alias(value, name, NamedExpression$.MODULE$.newExprId(), Scala.empty(), Scala.none(), Scala.empty());
    }
}
