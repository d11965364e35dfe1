package headwater.rewrite.scans.keyed;

import java.util.HashMap;
import java.util.Map;

/** The keys of tables that the program's settings state, by the table as programs call it. An application has one set of them. */
public final class DeclaredKeys {
    private static volatile Map<String, String> keys = new HashMap<>();

    private DeclaredKeys() {}

    public static void state(Map<String, String> given) {
        keys = given;
    }

    static String of(String table) {
        return table == null ? null : keys.get(table.trim());
    }
}
