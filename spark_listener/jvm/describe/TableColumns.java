package headwater.describe;

import headwater.rewrite.scans.keyed.ShortQuestion;
import headwater.shim.Untyped;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.jdbc.JdbcDialect;
import org.apache.spark.sql.jdbc.JdbcDialects;

/**
 * The columns of tables that a query in a JDBC option reads, as the database states them. With them, a column without a
 * qualifier can be assigned to its table. The database is asked after the query ran, on a separate thread, over one
 * connection with the program's own options. No row is read.
 */
public final class TableColumns {
    private static final int MOST_READS = 64; // whose options are kept
    private static final int MOST_TABLES = 64; // of one question
    private static final int MOST_COLUMNS = 2000; // of a table
    private static final Map<List<Object>, JDBCOptions> READS = new LinkedHashMap<>(16, 0.75f, true) { // List of the texts of a read -> JDBCOptions
        protected boolean removeEldestEntry(Map.Entry<List<Object>, JDBCOptions> eldest) {
            return size() > MOST_READS;
        }
    };

    private TableColumns() {}

    /** Keep the options of a read, which are needed where its columns are asked for. */
    static void keep(JDBCOptions options, Map<?, Object> about) {
        if (about.get("query") == null && about.get("prepare") == null && isName(String.valueOf(about.get("dbtable")))) {
            return;
        }
        synchronized (READS) {
            READS.put(key(about.get("url"), about.get("dbtable"), about.get("query"), about.get("prepare")), options);
        }
    }

    /**
     * The columns of tables that a read names in its text, a list by table; a table that does not answer is left out.
     * Waits for `milliseconds` at most. Never throws.
     */
    public static Map<?, Object> of(String url, String dbtable, String query, String prepare, final List<String> tables, int milliseconds) {
        final JDBCOptions options;
        synchronized (READS) {
            options = READS.get(key(url, dbtable, query, prepare));
        }
        if (options == null || tables.isEmpty() || tables.size() > MOST_TABLES) {
            return new HashMap<>();
        }
        final AtomicBoolean isOver = new AtomicBoolean(); // no interrupt: an embedded database may close its files at one
        Callable<Object> question = () -> answer(options, tables, isOver);
        Object found = ShortQuestion.answer(options.url(), Thread.currentThread().getContextClassLoader(), question, milliseconds);
        isOver.set(true);
        return found instanceof Map<?, ?> ? Untyped.value(found) : new HashMap<>();
    }

    private static boolean isName(String table) {
        return table.matches("[\\w$.]+");
    }

    private static List<Object> key(Object url, Object dbtable, Object query, Object prepare) {
        return Arrays.asList(url, dbtable, query, prepare);
    }

    private static Map<Object, List<String>> answer(JDBCOptions options, List<String> tables, AtomicBoolean isOver) throws Exception {
        JdbcDialect dialect = JdbcDialects.get(options.url());
        Connection connection = dialect.createConnectionFactory(options).apply(-1);
        try {
            readOnly(connection);
            Map<Object, List<String>> found = new LinkedHashMap<>();
            for (int i = 0; i < tables.size() && !isOver.get(); i++) {
                List<String> columns = columns(connection, dialect.getSchemaQuery(tables.get(i)));
                if (columns != null) {
                    found.put(tables.get(i), columns);
                }
            }
            return found;
        } finally {
            connection.close();
        }
    }

    private static void readOnly(Connection connection) {
        try {
            connection.setReadOnly(true);
        } catch (SQLException unable) {
            return; // SQLite's driver cannot once it is connected: a question about columns writes nothing in any case
        }
    }

    /** Null: the table does not say. */
    private static List<String> columns(Connection connection, String question) {
        try {
            PreparedStatement statement = connection.prepareStatement(question);
            try {
                statement.setQueryTimeout(1 + ShortQuestion.milliseconds() / 1000);
                ResultSetMetaData known = statement.getMetaData();
                return names(known != null ? known : statement.executeQuery().getMetaData());
            } finally {
                statement.close();
            }
        } catch (SQLException unknown) {
            return null;
        }
    }

    private static List<String> names(ResultSetMetaData known) throws SQLException {
        if (known.getColumnCount() > MOST_COLUMNS) {
            return null;
        }
        List<String> names = new ArrayList<>();
        for (int i = 1; i <= known.getColumnCount(); i++) {
            names.add(known.getColumnLabel(i));
        }
        return names;
    }
}
