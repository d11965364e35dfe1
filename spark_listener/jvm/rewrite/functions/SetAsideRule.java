package headwater.rewrite.functions;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PythonFuncExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.plans.logical.ArrowEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.BatchEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;

/**
 * The optimizer rule of `spark.headwater.skipFailing`: gives the scalar Python functions of an optimised plan guards,
 * and drops the rows that fail right above them. The rule runs before CaptureRule, which then sees an ordinary filter.
 * An operator whose functions cannot have guards stays as it is, and is named in `refused`.
 */
public final class SetAsideRule extends Rule<LogicalPlan> {
    private static final int MOST_REFUSED = 100;
    private static final String PROFILER = "spark.sql.pyspark.udf.profiler";
    private static final String CONCURRENCY = "spark.sql.execution.pythonUDF.arrow.concurrency.level";

    private final Set<String> refused = new LinkedHashSet<>();

    public String ruleName() {
        return "headwater.rewrite.functions.SetAsideRule";
    }

    /** The operators whose failing records are not set aside, each with the reason. */
    public List<String> refused() {
        synchronized (refused) {
            return new ArrayList<>(refused);
        }
    }

    public LogicalPlan apply(LogicalPlan plan) {
        try {
            return guarded(plan);
        } catch (Throwable fault) { // the job then fails at a failing record, as it does without this rule
            refuse("a query", fault.toString());
            return plan;
        }
    }

    private LogicalPlan guarded(LogicalPlan node) {
        List<LogicalPlan> children = new ArrayList<>();
        boolean changed = false;
        for (LogicalPlan child : Scala.list(node.children())) {
            LogicalPlan renewed = guarded(child);
            changed |= renewed != child;
            children.add(renewed);
        }
        LogicalPlan result = changed ? node.withNewChildren(Scala.seq(children)) : node;
        if (result instanceof BatchEvalPython evaluation) {
            return isGuarded(evaluation.udfs()) ? result : evaluated(result, evaluation.udfs(), evaluation.resultAttrs());
        }
        if (result instanceof ArrowEvalPython evaluation) {
            return isGuarded(evaluation.udfs()) ? result : evaluated(result, evaluation.udfs(), evaluation.resultAttrs());
        }
        for (Expression expression : Scala.list(result.expressions())) {
            if (hasPython(expression)) {
                refuse(result.nodeName(), "its function gets many rows at once, and no row of them can be left out");
            }
        }
        return result;
    }

    private static boolean isGuarded(scala.collection.immutable.Seq<PythonUDF> udfs) {
        return Scala.list(udfs).stream().anyMatch(GuardedFunctions::isKeeper);
    }

    private LogicalPlan evaluated(
        LogicalPlan node, scala.collection.immutable.Seq<PythonUDF> udfs, scala.collection.immutable.Seq<Attribute> results) {
        String obstacle = obstacle(node, udfs);
        if (obstacle != null) {
            refuse(Scala.list(udfs).get(0).name(), obstacle);
            return node;
        }
        String number = UUID.randomUUID().toString().substring(0, 13);
        List<PythonUDF> guarded = new ArrayList<>();
        for (PythonUDF function : Scala.list(udfs)) {
            guarded.add(GuardedFunctions.guarded(function, number));
        }
        PythonUDF keeper = GuardedFunctions.keeper(guarded.get(0), number);
        guarded.add(keeper);
        Attribute kept = new AttributeReference(
            keeper.name(), DataTypes.BooleanType, true, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.empty());
        List<Attribute> attributes = Scala.list(results);
        attributes.add(kept);
        LogicalPlan child = node.children().apply(0);
        LogicalPlan evaluation = node instanceof ArrowEvalPython arrow
            ? new ArrowEvalPython(Scala.seq(guarded), Scala.seq(attributes), child, arrow.evalType())
            : new BatchEvalPython(Scala.seq(guarded), Scala.seq(attributes), child);
        List<NamedExpression> output = new ArrayList<>(Scala.<Attribute>list(node.output()));
        return new Project(Scala.seq(output), new Filter(kept, evaluation));
    }

    private String obstacle(LogicalPlan node, scala.collection.immutable.Seq<PythonUDF> udfs) {
        if (node.isStreaming()) {
            return "it is a function of a stream";
        }
        if (SQLConf.get().getConfString(PROFILER, "perf").equals("memory")) {
            return PROFILER + " looks at the code of functions";
        }
        if (SQLConf.get().contains(CONCURRENCY)) {
            return CONCURRENCY + " runs it for several rows at a time";
        }
        for (PythonUDF function : Scala.list(udfs)) {
            String found = GuardedFunctions.obstacle(function);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    private static boolean hasPython(Expression expression) {
        if (expression instanceof PythonFuncExpression) {
            return true;
        }
        for (Expression child : Scala.list(expression.children())) {
            if (hasPython(child)) {
                return true;
            }
        }
        return false;
    }

    private void refuse(String operator, String reason) {
        synchronized (refused) {
            if (refused.size() < MOST_REFUSED) {
                refused.add(operator + ": " + reason);
            }
        }
    }
}
