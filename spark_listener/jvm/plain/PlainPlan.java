package headwater.plain;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.command.CreateDataSourceTableAsSelectCommand;
import org.apache.spark.sql.execution.command.DataWritingCommand;
import org.apache.spark.sql.execution.command.DataWritingCommandExec;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterator;

/**
 * The datasets that a query reads and writes: files and tables of files, by their folders. An unknown dataset becomes a
 * problem that names it.
 */
final class PlainPlan {
    private static final Set<String> NO_DATASETS = new HashSet<>(Arrays.asList(
        "LocalRelation", "OneRowRelation", "Range", "CommandResult", "CTERelationRef", "LogicalRDD", "ExternalRDD", "ResolvedIdentifier",
        "ResolvedNamespace", "ResolvedFunc", "ResolvedNonPersistentFunc", "ResolvedPersistentFunc", "ResolvedTempView", "ResolvedPersistentView"));
    private static final Set<String> TABLE_WRITES = Collections.singleton("InsertIntoHiveTable");

    private final QueryExecution query;
    private final List<Map<String, Object>> problems;
    private final List<Map<String, Object>> operators = new ArrayList<>();
    private final List<Map<String, Object>> sources = new ArrayList<>();
    private Map<String, Object> sink;
    private String command;

    PlainPlan(QueryExecution query, List<Map<String, Object>> problems) {
        this.query = query;
        this.problems = problems;
        LogicalPlan root = query.analyzed();
        if (root instanceof Command) {
            command = "execute " + root.getClass().getSimpleName();
            write(root);
        }
        Map<String, Object> operator = operator(root);
        List<Map<String, Object>> leaves = new ArrayList<>();
        visit(root, leaves);
        operator.put("children", leaves.stream().map(leaf -> leaf.get("id")).collect(Collectors.toList()));
    }

    static Map<String, Object> problem(String reason) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("operator", "capture");
        result.put("reason", reason);
        result.put("kind", "refused");
        return result;
    }

    Map<String, Object> parts() {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("operators", operators);
        result.put("sources", sources);
        result.put("sink", sink);
        result.put("command", command);
        result.put("output", new ArrayList<>());
        return result;
    }

    /** Rows, bytes and files, as Spark counted them. */
    Map<String, Object> metrics() {
        Map<String, Object> result = new LinkedHashMap<>();
        Object root = query.executedPlan();
        if (root instanceof AdaptiveSparkPlanExec) {
            root = ((AdaptiveSparkPlanExec) root).executedPlan();
        }
        if (root instanceof DataWritingCommandExec) {
            scala.collection.Map<String, SQLMetric> known = ((DataWritingCommandExec) root).cmd().metrics();
            put(result, "rows", known.get("numOutputRows"));
            put(result, "bytes", known.get("numOutputBytes"));
            put(result, "files", known.get("numFiles"));
        }
        return result;
    }

    private static void put(Map<String, Object> result, String name, Option<SQLMetric> metric) {
        if (metric.isDefined()) {
            result.put(name, metric.get().value());
        }
    }

    private Map<String, Object> operator(LogicalPlan node) {
        Map<String, Object> operator = new LinkedHashMap<>();
        operator.put("id", operators.size());
        operator.put("op", node.nodeName());
        operator.put("children", new ArrayList<>());
        operators.add(operator);
        return operator;
    }

    private void visit(LogicalPlan node, List<Map<String, Object>> leaves) {
        Iterator<?> below = iterator(node, "subqueries");
        while (below.hasNext()) {
            visit((LogicalPlan) below.next(), leaves);
        }
        LogicalPlan written = null; // of commands whose query is no child
        if (node instanceof SaveIntoDataSourceCommand) {
            written = ((SaveIntoDataSourceCommand) node).query();
        } else if (node instanceof CreateDataSourceTableAsSelectCommand) {
            written = ((CreateDataSourceTableAsSelectCommand) node).query();
        }
        if (written != null && !iterator(node, "children").hasNext()) {
            visit(written, leaves);
            return;
        }
        Iterator<?> children = iterator(node, "children");
        if (!children.hasNext()) {
            leaf(node, leaves);
        }
        while (children.hasNext()) {
            visit((LogicalPlan) children.next(), leaves);
        }
    }

    private void leaf(LogicalPlan node, List<Map<String, Object>> leaves) {
        Map<String, Object> described = null;
        if (node instanceof LogicalRelation && ((LogicalRelation) node).relation() instanceof HadoopFsRelation) {
            described = files((LogicalRelation) node, (HadoopFsRelation) ((LogicalRelation) node).relation());
        } else if (node instanceof HiveTableRelation) {
            described = table(((HiveTableRelation) node).tableMeta());
        } else if (node instanceof Command || NO_DATASETS.contains(node.getClass().getSimpleName())) {
            Map<String, Object> operator = operator(node);
            leaves.add(operator);
            List<Map<String, Object>> columns = new ArrayList<>(); // by these what an RDD read is known
            Iterator<?> output = iterator(node, "output");
            while (output.hasNext()) {
                Attribute attribute = (Attribute) output.next();
                Map<String, Object> column = new LinkedHashMap<>();
                column.put("attr", attribute.exprId().id());
                column.put("name", attribute.name());
                columns.add(column);
            }
            operator.put("columns", columns);
            return;
        }
        if (described == null) {
            String name = node instanceof LogicalRelation ? ((LogicalRelation) node).relation().getClass().getSimpleName() : node.nodeName();
            problems.add(problem("what " + name + " reads is not known on this Spark"));
            return;
        }
        described.put("source", sources.size());
        described.put("columns", columns(node.schema()));
        sources.add(described);
    }

    private static Map<String, Object> files(LogicalRelation leaf, HadoopFsRelation relation) {
        Map<String, Object> result = leaf.catalogTable().isDefined() ? table(leaf.catalogTable().get()) : null;
        if (result == null) {
            result = new LinkedHashMap<>();
            List<String> paths = new ArrayList<>();
            Iterator<?> roots = iterator(relation.location(), "rootPaths");
            while (roots.hasNext()) {
                paths.add(roots.next().toString());
            }
            if (paths.isEmpty()) {
                return null;
            }
            result.put("path", paths.get(0));
            result.put("paths", paths);
        }
        result.put("format", format(relation.fileFormat()));
        return result;
    }

    private static Map<String, Object> table(CatalogTable table) {
        if (!table.storage().locationUri().isDefined()) {
            return null;
        }
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("path", new Path(table.storage().locationUri().get()).toString());
        result.put("table", table.identifier().unquotedString());
        return result;
    }

    private void write(LogicalPlan root) {
        String name = root.getClass().getSimpleName();
        if (root instanceof InsertIntoHadoopFsRelationCommand) {
            InsertIntoHadoopFsRelationCommand write = (InsertIntoHadoopFsRelationCommand) root;
            sink = write.catalogTable().isDefined() ? table(write.catalogTable().get()) : null;
            sink = sink == null ? new LinkedHashMap<>() : sink;
            sink.put("path", write.outputPath().toString());
            sink.put("format", format(write.fileFormat()));
            sink.put("mode", write.mode() == SaveMode.Append ? "append" : "overwrite");
            sink.put("creates", write.mode() == SaveMode.ErrorIfExists || write.mode() == SaveMode.Ignore);
            sink.put("columns", columns(write.query().schema()));
        } else if (root instanceof CreateDataSourceTableAsSelectCommand) {
            CreateDataSourceTableAsSelectCommand made = (CreateDataSourceTableAsSelectCommand) root;
            try {
                sink = table(((SessionState) value(value(query, "sparkSession"), "sessionState")).catalog().getTableMetadata(made.table().identifier()));
                sink.put("creates", true);
                sink.put("columns", columns(made.query().schema()));
            } catch (Throwable unknown) {
                sink = null;
            }
        } else if (TABLE_WRITES.contains(name)) {
            try {
                sink = table((CatalogTable) value(root, "table"));
                sink.put("columns", columns(((DataWritingCommand) root).query().schema()));
            } catch (Throwable unknown) {
                sink = null;
            }
        }
        if (sink == null && (root instanceof DataWritingCommand || root instanceof SaveIntoDataSourceCommand || iterator(root, "children").hasNext())) {
            problems.add(problem("what " + name + " writes is not known on this Spark"));
        }
    }

    private static String format(FileFormat format) {
        return format instanceof DataSourceRegister ? ((DataSourceRegister) format).shortName() : format.toString().toLowerCase(Locale.ROOT);
    }

    private static List<Map<String, Object>> columns(StructType schema) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (StructField field : schema.fields()) {
            Map<String, Object> column = new LinkedHashMap<>();
            column.put("name", field.name());
            column.put("type", field.dataType().catalogString());
            result.add(column);
        }
        return result;
    }

    /** The elements of a sequence. Its type in the method's descriptor differs between Scala 2.12 and 2.13. */
    private static Iterator<?> iterator(Object owner, String member) {
        return ((scala.collection.Iterable<?>) value(owner, member)).iterator();
    }

    /**
     * The result of a method without parameters. The method is called by name, because its return type differs between
     * lines of Spark.
     */
    private static Object value(Object owner, String member) {
        try {
            return owner.getClass().getMethod(member).invoke(owner);
        } catch (ReflectiveOperationException other) {
            throw new IllegalStateException(other);
        }
    }
}
