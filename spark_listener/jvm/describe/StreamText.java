package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import scala.Option;

/**
 * The connectors of streaming queries: topics of Kafka, and tables that have a place. Files and Delta tables are found
 * by their names.
 */
public final class StreamText {
    private static final String KAFKA = "org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable";

    private StreamText() {}

    /** The sink of a stream, by Spark's table and the options of the program. Null for a sink without a known place. */
    public static Map<String, Object> sink(Object table, Object options) {
        try {
            return named(table, options);
        } catch (Throwable none) { // sinks of Spark's older interface are tables, too, and refuse to say anything
            return null;
        }
    }

    private static Map<String, Object> named(Object table, Object options) {
        Map<String, Object> settings = options instanceof scala.collection.immutable.Map<?, ?> ? SourceList.options(Untyped.value(options)) : new LinkedHashMap<>();
        return table instanceof Table ownTable ? described(ownTable, settings, ownTable.name()) : null;
    }

    /**
     * The table of the session's catalog whose files a stream writes, by the plan that the stream was started with;
     * null: it writes none.
     */
    public static Map<String, Object> table(Object plan) {
        Object found = Accessors.get(plan, "catalogTable");
        Object table = found instanceof Option<?> option ? Scala.orNull(option) : null;
        if (!(table instanceof CatalogTable catalogTable)) {
            return null;
        }
        Map<String, Object> result = new LinkedHashMap<>();
        Tables.name(catalogTable, result);
        Object provider = Scala.orNull(catalogTable.provider());
        if (provider != null) {
            result.put("format", ((String) provider).toLowerCase(Locale.ROOT));
        }
        return result;
    }

    /** The source of a leaf in a batch's plan. Null for a source without a known place. */
    static Map<String, Object> read(StreamingDataSourceV2ScanRelation leaf) {
        Object relation = leaf.relation();
        Object table = Accessors.get(relation, "table");
        Object options = Accessors.get(relation, "options");
        if (!(table instanceof Table ownTable) || !(options instanceof Map<?, ?> entries)) {
            return null;
        }
        Object catalog = Scala.orNull(leaf.catalog());
        Object identifier = Scala.orNull(leaf.identifier());
        boolean isNamed = catalog != null && identifier != null;
        return described(ownTable, Untyped.map(entries), isNamed ? TableText.name((CatalogPlugin) catalog, (Identifier) identifier) : ownTable.name());
    }

    private static Map<String, Object> described(Table table, Map<String, Object> options, String name) {
        if (table.getClass().getName().equals(KAFKA)) {
            return Connectors.kafka(options.get("kafka.bootstrap.servers"), options);
        }
        Map<String, Object> known = TableText.table(table, name);
        return known != null && known.containsKey("path") ? known : null;
    }
}
