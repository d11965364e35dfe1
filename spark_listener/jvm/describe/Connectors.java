package headwater.describe;

import com.fasterxml.jackson.core.type.TypeReference;
import headwater.shim.Parts;
import headwater.shim.Untyped;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation;
import org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTable;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.DataSourceRegister;

/**
 * The options of a connector that name its source or sink: `jdbc` and `kafka` of a description. Python derives the
 * names from them and keeps nothing else, since a URL may hold passwords. No other option is passed on.
 */
final class Connectors {
    private static final String KAFKA = "org.apache.spark.sql.kafka010.KafkaRelation";

    private Connectors() {}

    /** Null: of a relation of no connector that is known here. */
    static Map<String, Object> read(BaseRelation relation) {
        if (relation instanceof JDBCRelation jDBCRelation) {
            JDBCOptions options = jDBCRelation.jdbcOptions();
            Map<String, Object> described = jdbc(options);
            TableColumns.keep(options, Untyped.map(described.get("jdbc")));
            return described;
        }
        if (relation.getClass().getName().equals(KAFKA)) {
            Map<String, Object> options = map(field(relation, "sourceOptions"));
            Map<String, Object> servers = map(field(relation, "specifiedKafkaParams"));
            return kafka(servers.get("bootstrap.servers"), options);
        }
        return null;
    }

    /** The options of a table in a JDBC catalog. Null for other tables. */
    static Map<String, Object> table(Table table) {
        return table instanceof JDBCTable jDBCTable ? jdbc(jDBCTable.jdbcOptions()) : null;
    }

    /** The options that `save` got. Null for an unknown source. */
    static Map<String, Object> saved(Object source, Map<String, Object> options) {
        String name = source instanceof DataSourceRegister dataSourceRegister ? dataSourceRegister.shortName() : "";
        if (name.equals("jdbc")) {
            return jdbc(options);
        }
        return name.equals("kafka") ? kafka(options.get("kafka.bootstrap.servers"), options) : null;
    }

    private static Map<String, Object> jdbc(JDBCOptions options) {
        return jdbc(SourceList.options(options.parameters()));
    }

    private static Map<String, Object> jdbc(Map<String, Object> options) {
        Map<String, Object> about = Parts.of(
            "url", options.get("url"), "dbtable", options.get("dbtable"), "query", options.get("query"),
            "prepare", options.get("preparequery"));
        return described("jdbc", about);
    }

    /** The topics that are listed: of a pattern, and of a column of topics, it is not known which they are. */
    static Map<String, Object> kafka(Object servers, Map<String, Object> options) {
        List<String> topics = new ArrayList<>();
        if (options.get("topic") != null) {
            topics.add(String.valueOf(options.get("topic")));
        } else if (options.get("subscribe") != null) {
            String[] listed = String.valueOf(options.get("subscribe")).split(",");
            for (String string : listed) {
                topics.add(string.trim());
            }
        } else if (options.get("assign") != null) {
            topics.addAll(assigned(String.valueOf(options.get("assign"))));
        }
        Map<String, Object> about = Parts.of("servers", servers, "topics", topics);
        return described("kafka", about);
    }

    /** `{"topic": [0, 1], …}` */
    private static List<String> assigned(String json) {
        try {
            Map<String, Object> known = new com.fasterxml.jackson.databind.ObjectMapper().readValue(json, new TypeReference<>() {});
            return new ArrayList<>(known.keySet());
        } catch (java.io.IOException unreadable) {
            return List.of();
        }
    }

    private static Map<String, Object> described(String connector, Map<String, Object> about) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put(connector, about);
        result.put("format", connector);
        return result;
    }

    private static Map<String, Object> map(Object options) {
        return options instanceof scala.collection.immutable.Map<?, ?> ? SourceList.options(Untyped.value(options)) : new LinkedHashMap<>();
    }

    /** The value of a field of another library's class. Null if there is no field of this name. */
    static Object field(Object of, String name) {
        try {
            Field found = of.getClass().getDeclaredField(name);
            found.setAccessible(true);
            return found.get(of);
        } catch (Throwable unreadable) {
            return null;
        }
    }
}
