package headwater.listen;

import headwater.rewrite.core.Capture;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.expressions.VariableReference;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.SetVariable;
import org.apache.spark.sql.execution.ExternalRDD;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.BooleanType;

/**
 * Values that queries read and that later queries use outside of their plans: through SQL variables, or through the
 * program. The program may collect results and use the values in literals, rows or closures of later queries. No plan
 * shows the origin of these values.
 *
 * If a query read the value of a variable, a query that names the variable lacks records, and their dataset becomes its
 * input. Literals do not show whether they are such values, so the capture only notes that the program had read
 * results. This class runs on the draining thread, in the order in which queries ended.
 */
final class ProgramValues {
    private static final int MOST = 1000; // variables
    private static final int MOST_COLLECTED = 20; // sources that are named

    private final Map<String, List<Map<String, Object>>> variables = new HashMap<>(); // String -> List of Map: the described sources of a variable's values
    private final List<Map<String, Object>> collected = new ArrayList<>(); // the described sources of the results that the program has read
    private boolean hasRead; // whether the program has read results of queries over data

    /**
     * Note the values that an ended query gave to the program or to a variable. `action` is the method that the program
     * called, or null for a write. `sources` are the query's sources. Earlier values of a variable stay, because
     * earlier plans contain them.
     */
    void note(LogicalPlan analyzed, String action, List<Map<String, Object>> sources) {
        if (analyzed instanceof SetVariable set) {
            Set<String> used = names(set.sourceQuery());
            if (variables.size() < MOST && (readsData(set.sourceQuery()) || !used.isEmpty())) {
                List<Map<String, Object>> from = sources == null ? new ArrayList<>() : new ArrayList<>(sources);
                from.addAll(sources(used));
                Set<String> targets = new TreeSet<>();
                for (Expression reference : Scala.list(set.targetVariables())) {
                    collect(reference, targets);
                }
                for (String target : targets) {
                    add(target, from);
                }
                hasRead = true;
            }
        } else if (action != null && givesValues(action) && readsData(analyzed)) {
            hasRead = true;
            add(collected, sources == null ? new ArrayList<>() : sources, MOST_COLLECTED);
        }
    }

    /** Described sources of the results that the program has read so far, the first of them. */
    List<Map<String, Object>> collected() {
        return new ArrayList<>(collected);
    }

    private void add(String name, List<Map<String, Object>> from) {
        List<Map<String, Object>> known = variables.containsKey(name) ? variables.get(name) : new ArrayList<>();
        add(known, from, MOST);
        variables.put(name, known);
    }

    private static void add(List<Map<String, Object>> known, List<Map<String, Object>> from, int most) {
        for (int i = 0; i < from.size() && known.size() < most; i++) {
            Map<String, Object> one = new LinkedHashMap<>(from.get(i));
            one.put("files", null); // there may be many
            if (!known.contains(one)) {
                known.add(one);
            }
        }
    }

    /** The variables of a plan that hold or held the result of a query. A capture reports that records are missing. */
    Set<String> report(LogicalPlan analyzed, Capture capture) {
        Set<String> used = names(analyzed);
        if (!used.isEmpty() && capture != null) {
            String which = (used.size() == 1 ? "the variable " : "the variables ") + String.join(", ", used);
            capture.problem("VariableReference", which + " had a value that a query had read; the records that it came from are not listed", "missing");
        }
        return used;
    }

    /** Described sources of the values of variables. */
    List<Map<String, Object>> sources(Set<String> names) {
        List<Map<String, Object>> found = new ArrayList<>();
        for (String name : names) {
            for (Map<String, Object> map : variables.get(name)) {
                if (!found.contains(map)) {
                    found.add(map);
                }
            }
        }
        return found;
    }

    /** Whether a plan may have values that the program read before. */
    boolean mayHold(LogicalPlan analyzed) {
        return hasRead && takesValues(analyzed);
    }

    /** Whether an action gives the program values of rows. `head` is that of `show`, whose text is printed. */
    private static boolean givesValues(String name) {
        String action = name.toLowerCase(Locale.ROOT);
        return action.startsWith("collect") || action.contains("topython") || action.contains("iterator") || action.equals("count")
            || action.equals("tail") || action.equals("reduce");
    }

    private static boolean readsData(LogicalPlan plan) {
        for (LogicalPlan one : plans(plan)) {
            boolean isLeaf = one.children().isEmpty() && Scala.list(one.innerChildren()).isEmpty();
            if (isLeaf && !(one instanceof OneRowRelation) && !(one instanceof Range) && !(one instanceof LocalRelation)) {
                return true;
            }
        }
        return false;
    }

    private static boolean takesValues(LogicalPlan plan) {
        for (LogicalPlan one : plans(plan)) {
            if (one instanceof LocalRelation || one instanceof LogicalRDD || one instanceof ExternalRDD<?> || one instanceof Range) {
                return true;
            }
            for (Expression expression : Scala.list(one.expressions())) {
                if (takesValues(expression)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean takesValues(Expression expression) {
        if (expression instanceof Literal literal) {
            return literal.value() != null && !(expression.dataType() instanceof BooleanType);
        }
        if (expression instanceof UserDefinedExpression || expression instanceof ScalaUDF) {
            return true;
        }
        for (Expression child : Scala.list(expression.children())) {
            if (takesValues(child)) {
                return true;
            }
        }
        return false;
    }

    /** The variables in a plan that hold or held the result of a query. */
    private Set<String> names(LogicalPlan plan) {
        Set<String> found = new TreeSet<>();
        if (variables.isEmpty()) {
            return found;
        }
        for (LogicalPlan one : plans(plan)) {
            for (Expression expression : Scala.list(one.expressions())) {
                collect(expression, found);
            }
        }
        found.retainAll(variables.keySet());
        return found;
    }

    private static void collect(Expression expression, Set<String> found) {
        if (expression instanceof VariableReference variableReference) {
            found.add(variableReference.identifier().name().toLowerCase(Locale.ROOT));
        }
        for (Expression child : Scala.list(expression.children())) {
            collect(child, found);
        }
    }

    /** A plan with all below it, in commands and subqueries too. */
    private static List<LogicalPlan> plans(LogicalPlan root) {
        List<LogicalPlan> found = new ArrayList<>();
        found.add(root);
        for (int i = 0; i < found.size(); i++) {
            LogicalPlan plan = found.get(i);
            found.addAll(Scala.list(plan.children()));
            for (QueryPlan<?> inner : Scala.list(plan.innerChildren())) {
                if (inner instanceof LogicalPlan query && !plan.children().contains(inner)) {
                    found.add(query);
                }
            }
            for (Expression expression : Scala.list(plan.expressions())) {
                addSubqueries(expression, found);
            }
        }
        return found;
    }

    private static void addSubqueries(Expression expression, List<LogicalPlan> found) {
        if (expression instanceof PlanExpression<?> subquery && subquery.plan() instanceof LogicalPlan logicalPlan) {
            found.add(logicalPlan);
        }
        for (Expression child : Scala.list(expression.children())) {
            addSubqueries(child, found);
        }
    }
}
