package headwater.listen;

import headwater.rewrite.core.Capture;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
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
 * A query that names a variable whose value a query read lacks records. Of literals it is not known whether they are such values, so the
 * capture only notes that the program had read results. Asked on the draining thread, in the order in which queries ended.
 */
final class ProgramValues {
    private static final int MOST = 1000; // variables

    private final Set variables = new HashSet(); // String: names of those that have ever held what a query read; values live on in plans
    private boolean hasRead; // whether the program has read results of queries over data

    /** Notes what a query that ended gave to the program or to a variable. `action` is the name of what the program called; null: it wrote. */
    void note(LogicalPlan analyzed, String action) {
        if (analyzed instanceof SetVariable) {
            SetVariable set = (SetVariable) analyzed;
            if (variables.size() < MOST && (readsData(set.sourceQuery()) || !names(set.sourceQuery(), variables).isEmpty())) {
                List targets = Scala.list(set.targetVariables());
                for (int i = 0; i < targets.size(); i++) {
                    collect((Expression) targets.get(i), variables);
                }
                hasRead = true;
            }
        } else if (!hasRead && action != null && givesValues(action)) {
            hasRead = readsData(analyzed);
        }
    }

    /** Tells a capture which variables reached its query; whether values may have, by the program itself. */
    boolean report(LogicalPlan analyzed, Capture capture) {
        Set used = variables.isEmpty() ? variables : names(analyzed, variables);
        if (!used.isEmpty()) {
            String which = (used.size() == 1 ? "the variable " : "the variables ") + String.join(", ", used);
            capture.problem("VariableReference", which + " had a value that a query had read; the records that it came from are not listed", "missing");
        }
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
            if (one instanceof LocalRelation || one instanceof LogicalRDD || one instanceof ExternalRDD) {
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

    /** The variables that a plan names, of those given. */
    private static Set names(LogicalPlan plan, Set known) {
        Set found = new TreeSet();
        List plans = plans(plan);
        for (int i = 0; i < plans.size(); i++) {
            List expressions = Scala.list(((LogicalPlan) plans.get(i)).expressions());
            for (int j = 0; j < expressions.size(); j++) {
                collect((Expression) expressions.get(j), found);
            }
        }
        found.retainAll(known);
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
