package headwater.describe;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Names of sources and sinks whose identity is not known. A name belongs to one relation of one application, so that no
 * other data has the same name.
 */
final class UnknownSources {
    private static final int MOST = 1000; // relations that keep their name
    private static final String APPLICATION = UUID.randomUUID().toString();
    private static final List<UnknownSources.Named> KNOWN = new ArrayList<>();
    private static int last;

    private static final class Named {
        final WeakReference<Object> relation;
        final int number;

        Named(Object relation, int number) {
            this.relation = new WeakReference<>(relation);
            this.number = number;
        }
    }

    private UnknownSources() {}

    /** Adds what is known of a relation. `called`: what the program calls its kind; null: nothing. */
    static void name(Object relation, String called, Map<String, Object> described) {
        String kind = called == null ? "source" : called;
        described.put("unknown", kind);
        described.put("name", "unknown/" + kind + "/" + APPLICATION + "/" + number(relation));
    }

    private static synchronized int number(Object relation) {
        Iterator<UnknownSources.Named> all = KNOWN.iterator();
        while (all.hasNext()) {
            Named named = all.next();
            Object known = named.relation.get();
            if (known == relation) {
                return named.number;
            }
            if (known == null) {
                all.remove();
            }
        }
        last++;
        if (KNOWN.size() < MOST) {
            KNOWN.add(new Named(relation, last));
        }
        return last;
    }
}
