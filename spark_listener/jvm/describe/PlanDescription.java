package headwater.describe;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Family;
import headwater.rewrite.core.Inputs;
import headwater.rewrite.families.Families;
import headwater.rewrite.kept.Materialized;
import headwater.rewrite.delta.TableWrite;
import headwater.shim.Parts;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.WriteFiles;
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2;

/**
 * A plan as the manifest has it: operators in preorder (numbered as the rewriter numbers them), sources, sink. Total:
 * an operator that is not known by kind is described by name, children and what it reads. Runs on the draining thread,
 * never on the user's.
 */
public final class PlanDescription {
    private static final long MOST = 100000L; // columns and expressions of a plan whose records nobody follows: about a fifth of a second
    private static final int OPERATORS = 10000; // also a limit: the lineage of a plan that a program caches round after round grows

    private final List<Map<String, Object>> operators = new ArrayList<>();
    private final Sources all;
    private final List<CachedPlans.Place> caches = new ArrayList<>(); // of CachedPlans.Place, those met so far
    private SourceList sources; // of the plan that is described now
    private Capture capture; // of that plan, or null
    private final ExpressionText expressions = new ExpressionText();
    private final Map<Integer, Long> references = new LinkedHashMap<>(); // Integer operator -> Long id of a common table expression
    private final Map<Long, Integer> defined = new LinkedHashMap<>(); // Long id -> Integer operator
    // operators beyond the limit, for which only the sources are listed
    private final Map<LogicalPlan, Boolean> unlisted = new IdentityHashMap<>();
    private final Map<LogicalPlan, Integer> roots = new IdentityHashMap<>(); // LogicalPlan of a cache that has no capture -> Integer: the operator of its root
    private int leftOut; // operators whose list of columns may be incomplete
    private final Map<LogicalPlan, String> sets = new IdentityHashMap<>(); // Aggregate -> the set operation that it stands for
    private LogicalPlan plan;
    private Map<String, Object> sink;
    private String command;

    private PlanDescription(Capture capture) {
        this.all = new Sources(capture);
        this.sources = all.of(capture);
        this.capture = capture;
    }

    /** The description of a plan; `capture` is that of its query, or null. */
    public static PlanDescription of(LogicalPlan plan, Capture capture) {
        PlanDescription description = new PlanDescription(capture);
        if (capture == null || !capture.rewritten) {
            description.expressions.bound(MOST);
        }
        description.expressions.find(plan);
        if (plan instanceof WithCTE withCTE) {
            description.define(withCTE);
            description.visit(withCTE.plan()); // the command is the first operator
            description.definitions(withCTE);
        } else {
            description.visit(plan);
        }
        description.refer();
        for (int i = 0; i < description.caches.size(); i++) { // a plan below may read caches itself, which are added at the end
            description.below(description.caches.get(i));
        }
        description.plan = plan;
        return description;
    }

    /** The caches and checkpoints that the plan reads, of CachedPlans.Place. */
    List<CachedPlans.Place> caches() {
        return caches;
    }

    /** The number that a description gives to a source of a capture. */
    int source(Capture capture, int number) {
        return all.of(capture).number(number);
    }

    /** The parts `operators`, `sources`, `sink` (null: nothing is written) and `command` (null: a plain query). */
    public Map<String, Object> parts() {
        Map<String, Object> result = Parts.of(
            "operators", operators, "sources", all.list(), "sink", sink, "command", command, "output", output(plan));
        if (leftOut > 0) {
            result.put("left_out", leftOut);
        }
        return result;
    }

    /** The attributes that the query returns: to the driver if nothing is written, or to the sink of a streaming batch. */
    private static List<Map<String, Object>> output(LogicalPlan plan) {
        List<Map<String, Object>> result = new ArrayList<>();
        try {
            List<Attribute> attributes = Scala.list((plan instanceof WriteToDataSourceV2 writeToDataSourceV2 ? writeToDataSourceV2.query() : plan).output());
            for (Attribute attribute : attributes) {
                result.add(OperatorText.named(attribute));
            }
        } catch (RuntimeException fault) {
            result.clear(); // which columns the driver gets is not known; the plan still is
        }
        return result;
    }

    private String behaviour(LogicalPlan node, Family family) {
        if (capture != null && node instanceof Window window) {
            NamedExpression column = window.windowExpressions().apply(0);
            return capture.limitsForEachRow.contains(column.exprId()) ? Behaviour.PASSES : family.behaviour(node);
        }
        return family.behaviour(node);
    }

    private static void state(Map<String, Object> operator, String behaviour) {
        if (behaviour != null) {
            operator.put("behaviour", behaviour);
        }
    }

    private int visit(LogicalPlan node) {
        int id = operators.size();
        Map<String, Object> operator = new LinkedHashMap<>();
        operators.add(operator);
        operator.put("id", id);
        List<Integer> children = new ArrayList<>();
        try {
            operator.put("op", node.nodeName());
            operator.put("text", node.simpleString(25));
            boolean whole = expressions.affords(0L);
            Family family = node instanceof TableWrite ? null : Families.describing(node);
            if (!whole) {
                brief(node, operator);
            } else if (family == null) {
                OperatorText.plain(node, operator, sources);
            } else {
                family.describe(node, operator, expressions, sources);
            }
            if (node instanceof LogicalRDD logicalRDD && OwnRows.are(logicalRDD.rdd())) {
                operator.put("own", true);
            }
            state(operator, operator.containsKey("source") ? Behaviour.SOURCE : family == null ? null : behaviour(node, family));
            expressions.count(columns(operator));
            leftOut += whole && expressions.affords(0L) ? 0 : 1; // also one that is the first to be too large
            if (Materialized.reads(node)) {
                caches.add(new CachedPlans.Place(operator, node));
            }
        } catch (RuntimeException fault) {
            operator.put("op", node.nodeName()); // described by name alone; the rest of the plan still is
            operator.put("text", String.valueOf(fault));
        }
        if ((node instanceof Command || node instanceof TableWrite) && id == 0) {
            command = "execute " + node.nodeName();
            sink = SinkText.describe(node, operator);
            ChangedColumns.describe(node, operator, sink, expressions);
        }
        if (node instanceof CTERelationDef) {
            operator.put("columns", OperatorText.columns(node)); // what refers to it has columns of its own, in this order
        }
        if (node instanceof CTERelationRef reference) {
            references.put(id, reference.cteId());
        }
        if (node instanceof WithCTE withCTE) {
            define(withCTE);
        }
        if (node instanceof Generate generate) {
            SetOperations.mark(generate, sets);
        }
        if (sets.containsKey(node)) {
            operator.put("how", sets.get(node));
        }
        List<Integer> subqueries = subqueries(node);
        if (!subqueries.isEmpty()) {
            operator.put("subqueries", subqueries);
        }
        List<LogicalPlan> below = Scala.list(inputs(node));
        boolean all = operators.size() < OPERATORS || expressions.isUnbound();
        for (int i = 0; i < below.size() && !all; i++) {
            addSources(below.get(i));
        }
        for (int i = 0; i < below.size() && all; i++) {
            children.add(visit(below.get(i)));
        }
        operator.put("children", children);
        if (node instanceof WithCTE withCTE) {
            definitions(withCTE);
        }
        return id;
    }

    /** An operator of a plan with too many columns. The sources are listed, but no columns. */
    private void brief(LogicalPlan node, Map<String, Object> operator) {
        Integer source = node.children().isEmpty() ? sources.of(node) : null;
        if (source != null) {
            operator.put("op", "Scan");
            operator.put("source", source);
        }
    }

    /** Adds what is read below an operator that is the last to be listed. Parts that the plan has twice are walked through once. */
    private void addSources(LogicalPlan node) {
        if (unlisted.put(node, true) != null) {
            return;
        }
        leftOut++;
        List<LogicalPlan> below = Scala.list(inputs(node));
        for (Expression subquery : Inputs.subqueries(node)) {
            below.add(((ScalarSubquery) subquery).plan());
        }
        for (LogicalPlan plan : below) {
            addSources(plan);
        }
        try {
            if (below.isEmpty()) {
                sources.of(node);
            }
        } catch (RuntimeException fault) {
            return; // as of a leaf that is listed: the rest of the plan still is
        }
    }

    /** The number of columns that an operator lists. Expressions count themselves. */
    private static long columns(Map<String, Object> operator) {
        long result = 0L;
        for (Object part : operator.values()) {
            result += part instanceof List<?> values ? values.size() : 0;
        }
        return result;
    }

    /**
     * The plan below a cache or a checkpoint. One without a capture is described once, however many read it: they may
     * double at each level.
     */
    private void below(CachedPlans.Place place) {
        LogicalPlan plan = place.plan();
        if (plan == null) {
            return; // only where the relation came from another JVM
        }
        sources = all.of(place.capture);
        capture = place.capture;
        references.clear();
        defined.clear();
        expressions.find(plan);
        Integer known = place.capture == null ? roots.get(plan) : null;
        place.first = known == null ? operators.size() : known.intValue();
        Untyped.<List<Integer>>value(place.operator.get("children")).add(known == null ? Integer.valueOf(visit(plan)) : known);
        if (place.capture == null) {
            roots.put(plan, place.first);
        }
        place.operator.put("defines", CachedPlans.defined(place.relation, plan, expressions));
        refer();
    }

    /** Common table expressions: what refers to one reads its definition. */
    private void define(WithCTE node) {
        for (CTERelationDef def : Scala.list(node.cteDefs())) {
            expressions.define(def);
        }
    }

    private void definitions(WithCTE node) {
        for (CTERelationDef def : Scala.list(node.cteDefs())) {
            defined.put(def.id(), visit((LogicalPlan) def));
        }
    }

    private void refer() {
        for (Integer reference : references.keySet()) {
            Object definition = defined.get(references.get(reference));
            if (definition != null) {
                List<Object> children = new ArrayList<>();
                children.add(definition);
                operators.get(reference).put("children", children);
            }
        }
    }

    /** The scalar subqueries of an operator are operators too, each with its plan below. */
    private List<Integer> subqueries(LogicalPlan node) {
        List<Integer> result = new ArrayList<>();
        for (Expression expression : Inputs.subqueries(node)) {
            LogicalPlan plan = ((ScalarSubquery) expression).plan();
            Map<String, Object> operator = new LinkedHashMap<>();
            result.add(operators.size());
            operator.put("id", operators.size());
            operator.put("op", "ScalarSubquery");
            operator.put("text", "ScalarSubquery");
            operator.put("behaviour", Behaviour.PASSES);
            List<Map<String, Object>> columns = OperatorText.columns(plan);
            columns.addAll(expressions.fields(plan));
            operator.put("columns", columns);
            operators.add(operator);
            List<Integer> children = new ArrayList<>();
            children.add(visit(plan));
            operator.put("children", children);
        }
        return result;
    }

    /** A command and the WriteFiles below it are one operator. */
    private static scala.collection.immutable.Seq<LogicalPlan> inputs(LogicalPlan node) {
        if (node instanceof InsertIntoHadoopFsRelationCommand insert && insert.query() instanceof WriteFiles) {
            return insert.query().children();
        }
        if (node instanceof WithCTE withCTE) {
            return Scala.seq(withCTE.plan());
        }
        scala.collection.immutable.Seq<LogicalPlan> children = node.children();
        if (children.isEmpty() && node instanceof Command) {
            return CommandQueries.of(node);
        }
        return children;
    }
}
