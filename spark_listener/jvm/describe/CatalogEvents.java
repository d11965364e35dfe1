package headwater.describe;

import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.catalog.CreateTableEvent;
import org.apache.spark.sql.catalyst.catalog.DropTableEvent;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEvent;

/**
 * The tables that Spark's catalog reports as created or dropped. CREATE IF NOT EXISTS and DROP IF EXISTS do not report
 * whether they changed anything, and nothing else shows it afterwards.
 */
public final class CatalogEvents {
    private static final int MOST = 10000;
    private static final Map<String, Boolean> NAMES = new ConcurrentHashMap<>(); // "DROP database.table"

    private CatalogEvents() {}

    /** The catalog calls this before the command ends. */
    public static void add(ExternalCatalogEvent event) {
        if (event instanceof DropTableEvent dropTableEvent && NAMES.size() < MOST) {
            NAMES.put(key("DROP", dropTableEvent.database(), dropTableEvent.name()), true);
        } else if (event instanceof CreateTableEvent createTableEvent && NAMES.size() < MOST) {
            NAMES.put(key("CREATE", createTableEvent.database(), createTableEvent.name()), true);
        }
    }

    /** Have it stated at the command's end whether it did what it may have done; a command that `may` not was certain to. */
    static void ask(Map<String, Object> sink, String change, String database, String table, boolean may) {
        if (database != null) {
            sink.put("catalog_event", key(change, database, table));
            sink.put("may_change", may ? change : null);
        }
    }

    /** The database in which a table of this name was created. Null unless exactly one is known. */
    static String madeIn(String table) {
        String found = null;
        for (String name : NAMES.keySet()) {
            if (name.startsWith("create ") && name.endsWith("." + table.toLowerCase(Locale.ROOT))) {
                if (found != null) {
                    return null;
                }
                found = name.substring("create ".length(), name.length() - table.length() - 1);
            }
        }
        return found;
    }

    /** Complete what a command changed, as it ends: what the catalog has said by then. */
    public static void state(Map<String, Object> sink) {
        Object event = sink == null ? null : sink.remove("catalog_event");
        if (event == null) {
            return;
        }
        boolean happened = NAMES.remove(event) != null;
        Object change = sink.remove("may_change");
        if (happened && change != null) {
            boolean recreated = sink.containsKey("frames") && NAMES.remove(((String) event).replaceFirst("^create ", "drop ")) != null;
            sink.put("change", recreated ? "OVERWRITE" : change); // dropped by the very call that made it
        }
    }

    /** Forget what the catalog reported about an object other than a table. */
    static void forget(String change, String database, String name) {
        NAMES.remove(key(change, database, name));
    }

    private static String key(String change, String database, String table) {
        return (change + " " + database + "." + table).toLowerCase(Locale.ROOT);
    }
}
