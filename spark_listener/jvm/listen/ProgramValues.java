package headwater.listen;

import headwater.rewrite.core.Capture;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
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
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.plans.logical.SetVariable;
import org.apache.spark.sql.execution.ExternalRDD;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.BooleanType;

/**
 * Values that queries read and that come back into later queries, past their plans: by variables of SQL, and by the program itself, which
 * collects results and puts values of them into queries as literals, rows or closures. No plan shows where these came from.
 *
 * A query that names a variable lacks records if a query read the variable's value; the dataset of these records is an input of it. Of
 * literals it is not known whether they are such values, so the capture only notes that the program had read results. Asked on the draining
 * thread, in the order in which queries ended.
 */
final class ProgramValues {
    private static final int MOST = 1000; // variables
    private static final int MOST_COLLECTED = 20; // sources that are named

    private final Map variables = new HashMap(); // String -> List of Map: the described sources of a variable's values
    private final List collected = new ArrayList(); // of Map: the described sources of the results that the program has read
    private boolean hasRead; // whether the program has read results of queries over data

    /**
     * Notes what a query that ended gave to the program or to a variable. `action` is the name of what the program called; null: it wrote.
     * `sources` are those of the query. What a variable held before stays: plans that were made before have its value.
     */
    void note(LogicalPlan analyzed, String action, List sources) {
        if (analyzed instanceof SetVariable) {
            SetVariable set = (SetVariable) analyzed;
            Set used = names(set.sourceQuery());
            if (variables.size() < MOST && (readsData(set.sourceQuery()) || !used.isEmpty())) {
                List from = sources == null ? new ArrayList() : new ArrayList(sources);
                from.addAll(sources(used));
                Set targets = new TreeSet();
                List references = Scala.list(set.targetVariables());
                for (int i = 0; i < references.size(); i++) {
                    collect((Expression) references.get(i), targets);
                }
                Iterator each = targets.iterator();
                while (each.hasNext()) {
                    add((String) each.next(), from);
                }
                hasRead = true;
            }
        } else if (action != null && givesValues(action) && readsData(analyzed)) {
            hasRead = true;
            add(collected, sources == null ? new ArrayList() : sources, MOST_COLLECTED);
        }
    }

    /** Described sources of the results that the program has read so far, the first of them. */
    List collected() {
        return new ArrayList(collected);
    }

    private void add(String name, List from) {
        List known = variables.containsKey(name) ? (List) variables.get(name) : new ArrayList();
        add(known, from, MOST);
        variables.put(name, known);
    }

    private static void add(List known, List from, int most) {
        for (int i = 0; i < from.size() && known.size() < most; i++) {
            Map one = new LinkedHashMap((Map) from.get(i));
            one.put("files", null); // there may be many
            if (!known.contains(one)) {
                known.add(one);
            }
        }
    }

    /** The variables of a plan that have held what a query read; a capture says that records are missing. */
    Set report(LogicalPlan analyzed, Capture capture) {
        Set used = names(analyzed);
        if (!used.isEmpty() && capture != null) {
            String which = (used.size() == 1 ? "the variable " : "the variables ") + String.join(", ", used);
            capture.problem("VariableReference", which + " had a value that a query had read; the records that it came from are not listed", "missing");
        }
        return used;
    }

    /** Described sources of the values of variables. */
    List sources(Set names) {
        List found = new ArrayList();
        Iterator each = names.iterator();
        while (each.hasNext()) {
            List from = (List) variables.get(each.next());
            for (int i = 0; i < from.size(); i++) {
                if (!found.contains(from.get(i))) {
                    found.add(from.get(i));
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
        List plans = plans(plan);
        for (int i = 0; i < plans.size(); i++) {
            LogicalPlan one = (LogicalPlan) plans.get(i);
            boolean isLeaf = one.children().isEmpty() && Scala.list(one.innerChildren()).isEmpty();
            if (isLeaf && !(one instanceof OneRowRelation) && !(one instanceof Range) && !(one instanceof LocalRelation)) {
                return true;
            }
        }
        return false;
    }

    private static boolean takesValues(LogicalPlan plan) {
        List plans = plans(plan);
        for (int i = 0; i < plans.size(); i++) {
            LogicalPlan one = (LogicalPlan) plans.get(i);
            if (one instanceof LocalRelation || one instanceof LogicalRDD || one instanceof ExternalRDD || one instanceof Range) {
                return true;
            }
            List expressions = Scala.list(one.expressions());
            for (int j = 0; j < expressions.size(); j++) {
                if (takesValues((Expression) expressions.get(j))) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean takesValues(Expression expression) {
        if (expression instanceof Literal) {
            return ((Literal) expression).value() != null && !(expression.dataType() instanceof BooleanType);
        }
        if (expression instanceof UserDefinedExpression || expression instanceof ScalaUDF) {
            return true;
        }
        List children = Scala.list(expression.children());
        for (int i = 0; i < children.size(); i++) {
            if (takesValues((Expression) children.get(i))) {
                return true;
            }
        }
        return false;
    }

    /** The variables that a plan names, of those that have held what a query read. */
    private Set names(LogicalPlan plan) {
        Set found = new TreeSet();
        if (variables.isEmpty()) {
            return found;
        }
        List plans = plans(plan);
        for (int i = 0; i < plans.size(); i++) {
            List expressions = Scala.list(((LogicalPlan) plans.get(i)).expressions());
            for (int j = 0; j < expressions.size(); j++) {
                collect((Expression) expressions.get(j), found);
            }
        }
        found.retainAll(variables.keySet());
        return found;
    }

    private static void collect(Expression expression, Set found) {
        if (expression instanceof VariableReference) {
            found.add(((VariableReference) expression).identifier().name().toLowerCase(Locale.ROOT));
        }
        List children = Scala.list(expression.children());
        for (int i = 0; i < children.size(); i++) {
            collect((Expression) children.get(i), found);
        }
    }

    /** A plan with all below it, in commands and subqueries too. */
    private static List plans(LogicalPlan root) {
        List found = new ArrayList();
        found.add(root);
        for (int i = 0; i < found.size(); i++) {
            LogicalPlan plan = (LogicalPlan) found.get(i);
            found.addAll(Scala.list(plan.children()));
            List inner = Scala.list(plan.innerChildren());
            for (int j = 0; j < inner.size(); j++) {
                if (inner.get(j) instanceof LogicalPlan && !plan.children().contains(inner.get(j))) {
                    found.add(inner.get(j));
                }
            }
            List expressions = Scala.list(plan.expressions());
            for (int j = 0; j < expressions.size(); j++) {
                addSubqueries((Expression) expressions.get(j), found);
            }
        }
        return found;
    }

    private static void addSubqueries(Expression expression, List found) {
        if (expression instanceof PlanExpression && ((PlanExpression) expression).plan() instanceof LogicalPlan) {
            found.add(((PlanExpression) expression).plan());
        }
        List children = Scala.list(expression.children());
        for (int i = 0; i < children.size(); i++) {
            addSubqueries((Expression) children.get(i), found);
        }
    }
}
