package headwater.describe;

import headwater.rewrite.delta.TableWrite;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import headwater.text.Behaviour;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.command.DataWritingCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;

/**
 * The sink of a command: complete for files, place and columns for tables, and columns for others. Null for commands
 * without a sink.
 */
final class SinkText {
    private SinkText() {}

    static Map<String, Object> describe(LogicalPlan command, Map<String, Object> operator) {
        if (!(command instanceof DataWritingCommand write)) {
            Map<String, Object> sink = TableSinks.describe(command);
            if (command instanceof TableWrite) {
                rows(sink, operator);
            } else if (sink != null && command instanceof V2WriteCommand) {
                rows(sink, operator);
                sink.put("boundary", 0);
                sink.put("options", new LinkedHashMap<>());
                sink.put("partition_columns", new ArrayList<>()); // a table format's data files hold all columns
            }
            return sink;
        }
        operator.put("op", "Write");
        operator.put("behaviour", Behaviour.PASSES);
        List<Map<String, Object>> columns = new ArrayList<>();
        List<Object> written = new ArrayList<>();
        List<Attribute> output = Scala.list(write.query().output());
        List<String> names = Scala.list(write.outputColumnNames());
        for (int i = 0; i < output.size(); i++) {
            Attribute attribute = output.get(i);
            Map<String, Object> column = OperatorText.named(attribute);
            if (i < names.size()) {
                column.put("name", names.get(i));
            }
            columns.add(column);
            written.add(column.get("attr"));
        }
        operator.put("columns", written);
        Map<String, Object> sink = new LinkedHashMap<>();
        CatalogTable hive = Tables.writtenByHive(command);
        if (command instanceof InsertIntoHadoopFsRelationCommand insert) {
            files(insert, sink);
        } else if (hive != null) {
            Tables.hive(hive, sink);
            sink.put("mode", Tables.overwrites(command) ? "overwrite" : "append");
        } else {
            HiveFolder.add(command, sink);
        }
        sink.put("columns", columns);
        return sink;
    }

    /** A write of rows into a table, which may be captured. */
    private static void rows(Map<String, Object> sink, Map<String, Object> operator) {
        operator.put("op", "Write");
        operator.put("behaviour", Behaviour.PASSES);
        List<Object> written = new ArrayList<>();
        List<Map<String, Object>> columns = Untyped.maps(sink.get("columns"));
        for (int i = 0; columns != null && i < columns.size(); i++) {
            written.add(columns.get(i).get("attr"));
        }
        operator.put("columns", written);
    }

    private static void files(InsertIntoHadoopFsRelationCommand command, Map<String, Object> sink) {
        sink.put("boundary", 0);
        sink.put("path", command.outputPath().toString());
        sink.put("format", SourceList.format(command.fileFormat()));
        sink.put("mode", command.mode() == SaveMode.Append ? "append" : "overwrite");
        sink.put("creates", command.mode() == SaveMode.ErrorIfExists || command.mode() == SaveMode.Ignore); // if it writes at all
        sink.put("dynamic", command.dynamicPartitionOverwrite()); // only partitions that are written are replaced
        sink.put("options", SourceList.options(command.options()));
        List<String> partition = new ArrayList<>();
        for (Attribute attribute : Scala.list(command.partitionColumns())) {
            partition.add(attribute.name());
        }
        sink.put("partition_columns", partition);
        if (!command.staticPartitions().isEmpty()) {
            sink.put("static_partitions", Scala.map(command.staticPartitions()));
        }
        if (command.catalogTable().isDefined()) {
            Tables.name(command.catalogTable().get(), sink);
        }
    }
}
