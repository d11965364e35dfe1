package headwater.describe;

import headwater.rewrite.kept.Materialized;
import headwater.rewrite.keys.SemiJoinKeys;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.ExistenceJoin;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.ArrowEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.BatchEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Repartition;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.Window;

/** One operator: its name and what it reads and defines. */
final class OperatorText {
    private OperatorText() {}

    static void describe(LogicalPlan node, Map operator, ExpressionText expressions, SourceList sources) {
        operator.put("op", node.nodeName());
        operator.put("text", node.simpleString(25));
        if (Materialized.reads(node)) {
            operator.put("op", Materialized.name(node));
            operator.put("text", Materialized.name(node) + " " + node.output().mkString("[", ", ", "]")); // its own text is that of the whole plan below
        } else if (node.children().isEmpty()) {
            leaf(node, operator, sources);
        } else if (node instanceof Project) {
            operator.put("op", "Project");
            operator.put("defines", defined(Scala.list(((Project) node).projectList()), expressions));
        } else if (node instanceof Aggregate) {
            operator.put("op", "Aggregate");
            expressions.groups = DistinctGroups.under((Aggregate) node, expressions.taken);
            operator.put("keys", all(Scala.list(((Aggregate) node).groupingExpressions()), expressions));
            List defines = defined(Scala.list(((Aggregate) node).aggregateExpressions()), expressions);
            defines.addAll(DistinctGroups.columns((Aggregate) node, expressions.taken, expressions));
            operator.put("defines", defines);
        } else if (node instanceof Filter) {
            operator.put("reads", reads(node));
            operator.put("condition", expressions.outermost(((Filter) node).condition()));
        } else if (node instanceof Join) {
            Join join = (Join) node;
            operator.put("how", SemiJoinKeys.how(join.joinType()));
            if (join.joinType() instanceof ExistenceJoin) {
                operator.put("columns", exists((ExistenceJoin) join.joinType()));
            }
            operator.put("reads", reads(node));
            if (join.condition().isDefined()) {
                operator.put("condition", expressions.outermost((Expression) join.condition().get()));
            }
        } else if (node instanceof Window) {
            WindowText.describe((Window) node, operator, expressions);
        } else if (node instanceof BatchEvalPython) {
            python(operator, ((BatchEvalPython) node).udfs(), ((BatchEvalPython) node).resultAttrs(), expressions);
        } else if (node instanceof ArrowEvalPython) {
            python(operator, ((ArrowEvalPython) node).udfs(), ((ArrowEvalPython) node).resultAttrs(), expressions);
        } else if (node instanceof Union) {
            operator.put("defines", union(node, expressions));
        } else if (node instanceof Expand) {
            operator.put("defines", expanded((Expand) node, expressions));
        } else if (node instanceof Generate) {
            operator.put("defines", generated((Generate) node, expressions));
            operator.put("reads", reads(node));
        } else {
            if (node instanceof Repartition || node instanceof RepartitionByExpression) {
                operator.put("op", "Repartition");
            }
            operator.put("reads", reads(node));
        }
    }

    private static void leaf(LogicalPlan node, Map operator, SourceList sources) {
        Integer source = sources.of(node);
        if (source != null) {
            operator.put("op", "Scan");
            operator.put("source", source);
        }
        operator.put("columns", columns(node));
    }

    /** What a node puts out. */
    static List columns(LogicalPlan node) {
        List result = new ArrayList();
        List output = Scala.list(node.output());
        for (int i = 0; i < output.size(); i++) {
            result.add(named((Attribute) output.get(i)));
        }
        return result;
    }

    private static void python(Map operator, scala.collection.immutable.Seq udfs, scala.collection.immutable.Seq results, ExpressionText expressions) {
        operator.put("op", "PythonUDF");
        List functions = Scala.list(udfs);
        List attributes = Scala.list(results);
        List defines = new ArrayList();
        for (int i = 0; i < functions.size(); i++) {
            Map definition = named((Attribute) attributes.get(i));
            definition.put("expr", expressions.outermost((Expression) functions.get(i)));
            defines.add(definition);
        }
        operator.put("defines", defines);
    }

    /** What a list of named expressions computes; what merely passes through is left out. */
    static List defined(List columns, ExpressionText expressions) {
        List defines = new ArrayList();
        for (int i = 0; i < columns.size(); i++) {
            NamedExpression column = (NamedExpression) columns.get(i);
            if (!(column instanceof Attribute) && expressions.pivots.isArray(column)) {
                defines.addAll(expressions.pivots.columns(column, expressions));
            } else if (!(column instanceof Attribute)) {
                Map definition = named(column.toAttribute());
                definition.put("expr", expressions.outermost((Expression) column));
                defines.add(definition);
            }
        }
        return defines;
    }

    /** The column in which an existence join says whether a row has a match. */
    private static List exists(ExistenceJoin type) {
        List result = new ArrayList();
        result.add(named(type.exists()));
        return result;
    }

    /** Each column of a union is that of one branch or another: the function `union` over the branches' attributes. */
    private static List union(LogicalPlan node, ExpressionText expressions) {
        List output = Scala.list(node.output());
        List branches = Scala.list(node.children());
        List defines = new ArrayList();
        for (int i = 0; i < output.size(); i++) {
            List arguments = new ArrayList();
            for (int j = 0; j < branches.size(); j++) {
                arguments.add(expressions.of((Expression) ((LogicalPlan) branches.get(j)).output().apply(i)));
            }
            defines.add(choice("union", (Attribute) output.get(i), arguments));
        }
        return defines;
    }

    /** Each column of an Expand that it does not merely pass on: the function `expand` over what each projection makes of it. */
    private static List expanded(Expand node, ExpressionText expressions) {
        List output = Scala.list(node.output());
        List projections = Scala.list(node.projections());
        List defines = new ArrayList();
        for (int i = 0; i < output.size(); i++) {
            Attribute column = (Attribute) output.get(i);
            List arguments = new ArrayList();
            boolean passes = true;
            for (int j = 0; j < projections.size(); j++) {
                Expression made = (Expression) ((scala.collection.immutable.Seq) projections.get(j)).apply(i);
                passes &= made instanceof Attribute && ((Attribute) made).exprId().equals(column.exprId());
                arguments.add(expressions.of(made));
            }
            if (!passes) {
                defines.add(choice("expand", column, arguments));
            }
        }
        return defines;
    }

    /** A column that is one of several expressions, by where the row comes from. */
    private static Map choice(String function, Attribute column, List arguments) {
        Map definition = named(column);
        Map expression = new LinkedHashMap();
        expression.put("fn", function);
        expression.put("args", arguments);
        expression.put("type", definition.get("type"));
        definition.put("expr", expression);
        return definition;
    }

    private static List generated(Generate node, ExpressionText expressions) {
        List defines = new ArrayList();
        List output = Scala.list(node.generatorOutput());
        for (int i = 0; i < output.size(); i++) {
            Map definition = named((Attribute) output.get(i));
            definition.put("expr", expressions.outermost((Expression) node.generator()));
            defines.add(definition);
        }
        return defines;
    }

    static List all(List columns, ExpressionText expressions) {
        List result = new ArrayList();
        for (int i = 0; i < columns.size(); i++) {
            result.add(expressions.outermost((Expression) columns.get(i)));
        }
        return result;
    }

    /** The attributes that an operator's expressions read. */
    private static List reads(LogicalPlan node) {
        Set result = new LinkedHashSet();
        List expressions = Scala.list(node.expressions());
        for (int i = 0; i < expressions.size(); i++) {
            List references = Scala.list(((Expression) expressions.get(i)).references());
            for (int j = 0; j < references.size(); j++) {
                result.add(Long.valueOf(((Attribute) references.get(j)).exprId().id()));
            }
        }
        return new ArrayList(result);
    }

    static Map named(Attribute attribute) {
        Map result = new LinkedHashMap();
        result.put("attr", Long.valueOf(attribute.exprId().id()));
        result.put("name", attribute.name());
        result.put("type", String.valueOf(ExpressionText.type(attribute)));
        return result;
    }
}
