package headwater.describe;

import headwater.rewrite.delta.TableCommit;
import headwater.rewrite.delta.TableWrite;
import headwater.shim.Accessors;
import headwater.shim.Scala;
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

/** What commands on tables of table formats write to or change; null for commands that do neither. */
final class TableSinks {
    private static final String DELTA = "org.apache.spark.sql.delta.commands.";

    private TableSinks() {}

    static Map describe(LogicalPlan command) {
        if (command instanceof TableWrite) {
            return written((TableWrite) command);
        }
        if (command instanceof RowLevelWrite) {
            Map sink = sink(((RowLevelWrite) command).originalTable(), "change");
            return with(sink, byName(sink, ((V2WriteCommand) command).query()));
        }
        if (command instanceof V2WriteCommand) {
            V2WriteCommand write = (V2WriteCommand) command;
            return with(sink((LogicalPlan) write.table(), mode(write)), byPlace((LogicalPlan) write.table(), write.query()));
        }
        if (command instanceof V2CreateTableAsSelectPlan) {
            V2CreateTableAsSelectPlan create = (V2CreateTableAsSelectPlan) command;
            Map sink = sink(create.name(), command.nodeName().startsWith("Replace") ? "overwrite" : "append");
            if (sink != null) {
                sink.put("creates", Boolean.valueOf(command.nodeName().startsWith("Create")));
            }
            return with(sink, byPlace(create.query(), create.query()));
        }
        if (command instanceof SaveIntoDataSourceCommand) {
            return saved((SaveIntoDataSourceCommand) command);
        }
        if (command instanceof InsertIntoDataSourceCommand) {
            InsertIntoDataSourceCommand insert = (InsertIntoDataSourceCommand) command;
            if (insert.logicalRelation().relation() instanceof JDBCRelation) {
                return null; // it runs a SaveIntoDataSourceCommand, which is told
            }
            Map sink = SourceList.table(insert.logicalRelation());
            sink.put("mode", insert.overwrite() ? "overwrite" : "append");
            return with(sink, byPlace(insert.logicalRelation(), insert.query()));
        }
        if (command.getClass().getName().startsWith(DELTA)) {
            Object target = Accessors.get(command, "target");
            return sink(target == null ? Accessors.get(command, "child") : target, "change"); // `child`: OPTIMIZE
        }
        return null;
    }

    /** What Delta wrote by a query of its own: what is known of the command, and of the table as its commit left it. */
    private static Map written(TableWrite write) {
        Map known = write.command == null ? null : describe(write.command);
        Map sink = known == null ? new LinkedHashMap() : known;
        sink.put("boundary", Integer.valueOf(0));
        sink.put("path", write.commit.path());
        sink.put("format", "delta");
        if (!sink.containsKey("mode")) {
            sink.put("mode", "change");
        }
        Map options = new LinkedHashMap();
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
        if (table instanceof CatalogTable && !sink.containsKey("table")) {
            Tables.name((CatalogTable) table, sink);
        }
        return with(sink, without(byPlace(write.child(), write.child()), write.commit.hidden()));
    }

    private static List without(List columns, Collection names) {
        List result = new ArrayList();
        for (int i = 0; i < columns.size(); i++) {
            if (!names.contains(((Map) columns.get(i)).get("name"))) {
                result.add(columns.get(i));
            }
        }
        return result;
    }

    private static Map saved(SaveIntoDataSourceCommand command) {
        Map options = SourceList.options(command.options());
        Map connected = Connectors.saved(command.dataSource(), options);
        if (connected != null) {
            connected.put("mode", command.mode() == SaveMode.Overwrite ? "overwrite" : "append");
            connected.put("creates", Boolean.valueOf(command.mode() == SaveMode.ErrorIfExists));
            return with(connected, byPlace(command.query(), command.query()));
        }
        String format = command.dataSource() instanceof DataSourceRegister ? ((DataSourceRegister) command.dataSource()).shortName() : null;
        if ("console".equals(format)) {
            return null;
        }
        Map sink = new LinkedHashMap();
        if (!options.containsKey("path")) {
            UnknownSources.name(command, format, sink);
        } else {
            sink.put("path", qualified((String) options.get("path")));
            if (format != null) {
                sink.put("format", format);
            }
        }
        sink.put("mode", command.mode() == SaveMode.Overwrite ? "overwrite" : "append");
        sink.put("creates", Boolean.valueOf(command.mode() == SaveMode.ErrorIfExists));
        return with(sink, byPlace(command.query(), command.query()));
    }

    /** A path as the program gave it: without a scheme it is one of the file system that is the default. */
    private static String qualified(String path) {
        try {
            Path given = new Path(path);
            if (given.toUri().getScheme() != null) {
                return path;
            }
            SparkSession session = (SparkSession) SparkSession.getDefaultSession().get();
            return FileSystem.get(session.sparkContext().hadoopConfiguration()).makeQualified(given).toString();
        } catch (Throwable unknown) { // the session has ended, or the path is none
            return path;
        }
    }

    private static String mode(V2WriteCommand command) {
        if (command instanceof OverwriteByExpression) {
            boolean isAll = Literal.TrueLiteral().equals(((OverwriteByExpression) command).deleteExpr());
            return isAll ? "overwrite" : "change";
        }
        return command instanceof AppendData ? "append" : command instanceof OverwritePartitionsDynamic ? "overwrite" : "change";
    }

    private static Map sink(Object target, String mode) {
        Map sink = target instanceof LogicalPlan ? TableText.target((LogicalPlan) target) : null;
        if (sink != null) {
            sink.put("mode", mode);
        }
        return sink;
    }

    private static Map with(Map sink, List columns) {
        if (sink != null) {
            sink.put("columns", columns);
        }
        return sink;
    }

    /** The columns of a write, which are in the table's order. */
    private static List byPlace(LogicalPlan table, LogicalPlan query) {
        List result = new ArrayList();
        List names = Scala.list(table.output());
        List written = Scala.list(query.output());
        for (int i = 0; i < written.size(); i++) {
            Map column = OperatorText.named((Attribute) written.get(i));
            if (names.size() == written.size()) {
                column.put("name", ((Attribute) names.get(i)).name());
            }
            result.add(column);
        }
        return result;
    }

    /** The table's columns of a change, whose query has others beside them: what is to happen to a row, and where it was. */
    private static List byName(Map sink, LogicalPlan query) {
        List known = new ArrayList();
        List columns = sink == null ? new ArrayList() : (List) sink.get("columns");
        for (int i = 0; columns != null && i < columns.size(); i++) {
            known.add(((Map) columns.get(i)).get("name"));
        }
        List result = new ArrayList();
        List written = Scala.list(query.output());
        for (int i = 0; i < written.size(); i++) {
            Attribute attribute = (Attribute) written.get(i);
            if (known.remove(attribute.name())) {
                result.add(OperatorText.named(attribute));
            }
        }
        return result;
    }
}
