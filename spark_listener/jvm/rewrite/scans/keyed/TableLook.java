package headwater.rewrite.scans.keyed;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import headwater.rewrite.core.Refused;
import headwater.shim.Scala;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.jdbc.JdbcDialects;
import scala.Function1;

/**
 * The catalog entry of a database table before it is read: its primary key, and the ended transactions, so that a trace
 * finds rows that have changed since. The look takes one short question over a connection with the program's own
 * options.
 */
public final class TableLook {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String QUESTION = "SELECT c.oid::text, c.relkind::text, c.relhassubclass, n.nspname, c.relname,"
        + " txid_snapshot_xmin(txid_current_snapshot())::text,"
        + " (SELECT json_agg(a.attname ORDER BY k.place)::text FROM pg_constraint p JOIN pg_index i ON i.indexrelid = p.conindid AND i.indisvalid"
        + " CROSS JOIN unnest(p.conkey) WITH ORDINALITY k(number, place) JOIN pg_attribute a ON a.attrelid = p.conrelid AND a.attnum = k.number"
        + " WHERE p.conrelid = c.oid AND p.contype = 'p'),"
        + " (SELECT json_object_agg(a.attname, CASE WHEN d.typbasetype = 0 THEN format_type(a.atttypid, a.atttypmod)"
        // of a domain, the underlying type
        + " ELSE format_type(d.typbasetype, d.typtypmod) END)::text FROM pg_attribute a JOIN pg_type d ON d.oid = a.atttypid"
        + " WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)"
        + " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(?)";

    final List<String> parts; // schema and table; null: not known
    final String relation; // the table's own number in the database
    final String snapshot; // transactions below had ended; null: not known
    final Map<?, String> types; // of its columns, by name, in the words of the database; empty: not known
    private final List<String> key;
    private final String obstacle; // why there is no key

    private TableLook(List<String> parts, String relation, String snapshot, List<String> key, Map<?, String> types, String obstacle) {
        this.parts = parts;
        this.relation = relation;
        this.snapshot = snapshot;
        this.key = key;
        this.types = types;
        this.obstacle = obstacle;
    }

    /** `known`: the looks of a capture, by the options of a read: its scans of one table have one. */
    static TableLook of(JDBCOptions options, String table, Map<Object, TableLook> known) {
        TableLook look = known.get(options);
        if (look == null) {
            look = table == null || table.trim().startsWith("(") ? without("it is a query") : asked(options, table);
            known.put(options, look);
        }
        return look;
    }

    /** The names of its columns. Throws Refused where the table has none that can be followed. */
    List<String> key() {
        if (key == null) {
            throw new Refused("JDBC", obstacle + ": its lineage is by dataset");
        }
        return key;
    }

    private static TableLook without(String obstacle) {
        return new TableLook(null, null, null, null, new HashMap<>(), obstacle);
    }

    private static TableLook asked(final JDBCOptions options, final String table) {
        if (!options.url().toLowerCase(java.util.Locale.ROOT).startsWith("jdbc:postgresql:")) {
            return without("which key the table has is asked of PostgreSQL alone, and the settings declare none (HEADWATER_JDBC_KEYS)");
        }
        if (isSet(options, "sessioninitstatement") || isSet(options, "preparequery")) { // either may make the name that of another table
            return without("which table is read depends on a statement of the program's own (sessionInitStatement, prepareQuery)");
        }
        Object found = ShortQuestion.answer(options.url(), Thread.currentThread().getContextClassLoader(), () -> answer(options, table));
        return found instanceof TableLook tableLook ? tableLook : without("which key the table has is not known: " + found);
    }

    private static boolean isSet(JDBCOptions options, String name) {
        String value = Scala.orNull(options.parameters().get(name));
        return value != null && !value.trim().isEmpty();
    }

    private static TableLook answer(JDBCOptions options, String table) throws Exception {
        Function1<Object, Connection> factory = JdbcDialects.get(options.url()).createConnectionFactory(options);
        Connection connection = factory.apply(-1);
        try {
            connection.setReadOnly(true);
            PreparedStatement statement = connection.prepareStatement(QUESTION);
            statement.setQueryTimeout(1 + ShortQuestion.milliseconds() / 1000);
            statement.setString(1, table.trim());
            ResultSet row = statement.executeQuery();
            return row.next() ? read(row) : without("the database has no table of the name");
        } finally {
            connection.close();
        }
    }

    private static TableLook read(ResultSet row) throws java.sql.SQLException, java.io.IOException {
        List<String> parts = new ArrayList<>();
        parts.add(row.getString(4));
        parts.add(row.getString(5));
        String kind = row.getString(2);
        String key = row.getString(7);
        String obstacle = null;
        if (key == null) {
            obstacle = "the table has no primary key, and the settings declare none (HEADWATER_JDBC_KEYS)";
        } else if (kind.equals("r") && row.getBoolean(3)) {
            obstacle = "tables inherit from it, and may have rows of the same key";
        }
        Map<String, String> types = row.getString(8) == null ? Map.of() : JSON.readValue(row.getString(8), new TypeReference<>() {});
        boolean isTable = kind.equals("r") || kind.equals("p"); // what a view shows has no version of its own
        List<String> names = obstacle == null ? JSON.readValue(key, new TypeReference<List<String>>() {}) : null;
        return new TableLook(parts, row.getString(1), isTable ? row.getString(6) : null, names, types, obstacle);
    }
}
