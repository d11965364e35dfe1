package headwater.describe;

import headwater.rewrite.delta.TableCommit;
import headwater.rewrite.delta.TableWrite;
import headwater.shim.Accessors;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.RowLevelWrite;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTableAsSelectPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation;
import org.apache.spark.sql.sources.DataSourceRegister;

/** The sink of commands on tables of table formats. Null for commands without one. */
final class TableSinks {
    private static final String DELTA = "org.apache.spark.sql.delta.commands.";

    private TableSinks() {}

    static Map<String, Object> describe(LogicalPlan command) {
        if (command instanceof TableWrite tableWrite) {
            return written(tableWrite);
        }
        if (command instanceof RowLevelWrite rowLevelWrite) {
            Map<String, Object> sink = sink(rowLevelWrite.originalTable(), "change");
            return with(sink, byName(sink, ((V2WriteCommand) command).query()));
        }
        if (command instanceof V2WriteCommand write) {
            return with(sink((LogicalPlan) write.table(), mode(write)), byPlace((LogicalPlan) write.table(), write.query()));
        }
        if (command instanceof V2CreateTableAsSelectPlan create) {
            Map<String, Object> sink = sink(create.name(), command.nodeName().startsWith("Replace") ? "overwrite" : "append");
            if (sink != null) {
                sink.put("creates", command.nodeName().startsWith("Create"));
            }
            return with(sink, byPlace(create.query(), create.query()));
        }
        if (command instanceof SaveIntoDataSourceCommand saveIntoDataSourceCommand) {
            return saved(saveIntoDataSourceCommand);
        }
        if (command instanceof InsertIntoDataSourceCommand insert) {
            if (insert.logicalRelation().relation() instanceof JDBCRelation) {
                return null; // the command runs a SaveIntoDataSourceCommand, which is reported
            }
            Map<String, Object> sink = SourceList.table(insert.logicalRelation());
            sink.put("mode", insert.overwrite() ? "overwrite" : "append");
            return with(sink, byPlace(insert.logicalRelation(), insert.query()));
        }
        if (command.getClass().getName().startsWith(DELTA)) {
            Object target = Accessors.get(command, "target");
            return sink(target == null ? Accessors.get(command, "child") : target, "change"); // `child`: OPTIMIZE
        }
        return null;
    }

    /** The sink of a query that Delta runs for a command: the command, and the table after its commit. */
    private static Map<String, Object> written(TableWrite write) {
        Map<String, Object> known = write.command == null ? null : describe(write.command);
        Map<String, Object> sink = known == null ? new LinkedHashMap<>() : known;
        sink.put("boundary", 0);
        sink.put("path", write.commit.path());
        sink.put("format", "delta");
        if (!sink.containsKey("mode")) {
            sink.put("mode", "change");
        }
        Map<String, Object> options = new LinkedHashMap<>();
        TableCommit.addNames(options, write.commit.mapping(), write.commit.schema());
        sink.put("options", options);
        sink.put("partition_columns", write.commit.partitionColumns());
        Object version = write.commit.version();
        if (version != null) {
            sink.put("version", String.valueOf(version));
        }
        String merge = MergeClauses.kind(write.command);
        if (merge != null) {
            sink.put("merge", merge);
        }
        Object table = write.commit.catalogTable();
        if (table instanceof CatalogTable catalogTable && !sink.containsKey("table")) {
            Tables.name(catalogTable, sink);
        }
        return with(sink, without(byPlace(write.child(), write.child()), write.commit.hidden()));
    }

    private static List<Map<String, Object>> without(List<Map<String, Object>> columns, Collection<Object> names) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (Map<String, Object> column : columns) {
            if (!names.contains(column.get("name"))) {
                result.add(column);
            }
        }
        return result;
    }

    private static Map<String, Object> saved(SaveIntoDataSourceCommand command) {
        Map<String, Object> options = SourceList.options(command.options());
        Map<String, Object> connected = Connectors.saved(command.dataSource(), options);
        if (connected != null) {
            connected.put("mode", command.mode() == SaveMode.Overwrite ? "overwrite" : "append");
            connected.put("creates", command.mode() == SaveMode.ErrorIfExists);
            return with(connected, byPlace(command.query(), command.query()));
        }
        String format = command.dataSource() instanceof DataSourceRegister dataSourceRegister ? dataSourceRegister.shortName() : null;
        if ("console".equals(format)) {
            return null;
        }
        Map<String, Object> sink = new LinkedHashMap<>();
        if (!options.containsKey("path")) {
            UnknownSources.name(command, format, sink);
        } else {
            sink.put("path", qualified((String) options.get("path")));
            if (format != null) {
                sink.put("format", format);
            }
        }
        sink.put("mode", command.mode() == SaveMode.Overwrite ? "overwrite" : "append");
        sink.put("creates", command.mode() == SaveMode.ErrorIfExists);
        return with(sink, byPlace(command.query(), command.query()));
    }

    /** A path as the program gave it: without a scheme it is one of the file system that is the default. */
    private static String qualified(String path) {
        try {
            Path given = new Path(path);
            if (given.toUri().getScheme() != null) {
                return path;
            }
            SparkSession session = SparkSession.getDefaultSession().get();
            return FileSystem.get(session.sparkContext().hadoopConfiguration()).makeQualified(given).toString();
        } catch (Throwable unknown) { // the session has ended, or the text is not a path
            return path;
        }
    }

    private static String mode(V2WriteCommand command) {
        if (command instanceof OverwriteByExpression overwriteByExpression) {
            boolean isAll = Literal.TrueLiteral().equals(overwriteByExpression.deleteExpr());
            return isAll ? "overwrite" : "change";
        }
        return command instanceof AppendData ? "append" : command instanceof OverwritePartitionsDynamic ? "overwrite" : "change";
    }

    private static Map<String, Object> sink(Object target, String mode) {
        Map<String, Object> sink = target instanceof LogicalPlan logicalPlan ? TableText.target(logicalPlan) : null;
        if (sink != null) {
            sink.put("mode", mode);
        }
        return sink;
    }

    private static Map<String, Object> with(Map<String, Object> sink, List<Map<String, Object>> columns) {
        if (sink != null) {
            sink.put("columns", columns);
        }
        return sink;
    }

    /** The columns of a write, which are in the table's order. */
    private static List<Map<String, Object>> byPlace(LogicalPlan table, LogicalPlan query) {
        List<Map<String, Object>> result = new ArrayList<>();
        List<Attribute> names = Scala.list(table.output());
        List<Attribute> written = Scala.list(query.output());
        for (int i = 0; i < written.size(); i++) {
            Map<String, Object> column = OperatorText.named(written.get(i));
            if (names.size() == written.size()) {
                column.put("name", names.get(i).name());
            }
            result.add(column);
        }
        return result;
    }

    /** Keep the table's columns only. The query of a change has more columns: the operation on a row, and the row's earlier place. */
    private static List<Map<String, Object>> byName(Map<String, Object> sink, LogicalPlan query) {
        List<Object> known = new ArrayList<>();
        List<Map<String, Object>> columns = sink == null ? new ArrayList<>() : Untyped.maps(sink.get("columns"));
        for (int i = 0; columns != null && i < columns.size(); i++) {
            known.add(columns.get(i).get("name"));
        }
        List<Map<String, Object>> result = new ArrayList<>();
        for (Attribute attribute : Scala.list(query.output())) {
            if (known.remove(attribute.name())) {
                result.add(OperatorText.named(attribute));
            }
        }
        return result;
    }
}
