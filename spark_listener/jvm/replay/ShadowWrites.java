package headwater.replay;

import headwater.shim.Accessors;
import headwater.shim.Scala;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/**
 * The place of the table that a command changes. Only commands are known whose whole effect is in that place: writes of
 * Delta and of Iceberg, and the creation, replacement and change of tables in a Hadoop catalog of Iceberg.
 */
final class ShadowWrites {
    private static final String DELTA = "org.apache.spark.sql.delta.";
    private static final String ICEBERG = "org.apache.iceberg.";
    private static final Set<String> OF_DELTA = Set.of("MergeIntoCommand", "UpdateCommand", "DeleteCommand", "WriteIntoDelta");
    private static final Set<String> OF_TABLES = Set.of(
        "CreateTable", "CreateTableAsSelect", "ReplaceTable", "ReplaceTableAsSelect", "DropTable", "DeleteFromTable",
        "DeleteFromTableWithFilters", "TruncateTable", "AddColumns", "ReplaceColumns", "DropColumns", "RenameColumn",
        "AlterColumn", "AlterColumns", "SetTableProperties", "UnsetTableProperties", "AddPartitionField", "DropPartitionField",
        "ReplacePartitionField", "SetWriteDistributionAndOrdering", "SetIdentifierFields", "DropIdentifierFields");

    private ShadowWrites() {}

    /** Null if the command is of another kind, or its place is not understood. */
    static Path placeOf(LogicalPlan command) {
        if (command instanceof SaveIntoDataSourceCommand save) {
            boolean isDelta = save.dataSource().getClass().getName().startsWith(DELTA);
            return isDelta ? path(Scala.map(save.options()).get("path")) : null;
        }
        if (command instanceof V2WriteCommand write) {
            return write.table() instanceof DataSourceV2Relation relation ? placeOf(relation.table()) : null;
        }
        String name = command.getClass().getSimpleName();
        if (command.getClass().getName().startsWith(DELTA)) {
            return OF_DELTA.contains(name) ? ofDelta(command) : null;
        }
        return OF_TABLES.contains(name) ? ofTable(command) : null;
    }

    private static Path ofDelta(LogicalPlan command) {
        for (String owner : List.of("targetFileIndex", "tahoeFileIndex")) { // of a MERGE; of an UPDATE
            Object path = Accessors.get(Accessors.get(command, owner), "path");
            if (path != null) {
                return path(path);
            }
        }
        return path(Accessors.get(Accessors.get(command, "deltaLog"), "dataPath"));
    }

    private static Path ofTable(LogicalPlan command) {
        LogicalPlan target = null;
        for (String owner : List.of("name", "table", "child")) { // an analyzed CREATE TABLE AS has no children
            if (target == null && Accessors.get(command, owner) instanceof LogicalPlan found) {
                target = found;
            }
        }
        while (target instanceof SubqueryAlias alias) {
            target = alias.child();
        }
        if (target instanceof ResolvedTable resolved) {
            return placeOf(resolved.table());
        }
        if (target instanceof DataSourceV2Relation relation) {
            return placeOf(relation.table());
        }
        return target instanceof ResolvedIdentifier named ? new HadoopCatalogs(named.catalog()).warehouse() : null;
    }

    private static Path placeOf(Table table) {
        String type = table.getClass().getName();
        if (type.endsWith(".RowLevelOperationTable")) {
            return Accessors.get(table, "table") instanceof Table inner ? placeOf(inner) : null;
        }
        if (type.startsWith(DELTA)) {
            return path(Accessors.get(table, "path"));
        }
        return type.startsWith(ICEBERG) ? path(table.properties().get("location")) : null;
    }

    private static Path path(Object named) {
        return named instanceof Path path ? path : named == null ? null : new Path(String.valueOf(named));
    }
}
