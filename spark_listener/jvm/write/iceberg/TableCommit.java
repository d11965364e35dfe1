package headwater.write.iceberg;

import headwater.shim.DataFiles;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;

/**
 * What a write is to an Iceberg table: the ids of the fields that it fills, and the snapshot that its commit made. That is the one of this
 * application that the table did not have before; where others commit at the same time, so that there are several, none is named.
 */
public final class TableCommit {
    private final Object table; // Iceberg's
    private final String application;
    private final Map fields = new HashMap(); // name of a column -> Integer
    private final Set before = new HashSet(); // of Object: ids of snapshots
    private boolean known;
    private volatile String snapshot;

    public TableCommit(Object table, String application) {
        this.table = table;
        this.application = application;
        Iterator columns = ((Iterable) DataFiles.known(DataFiles.known(table, "schema"), "columns")).iterator();
        while (columns.hasNext()) {
            Object column = columns.next();
            fields.put(DataFiles.known(column, "name"), DataFiles.known(column, "fieldId"));
        }
    }

    /** Null: it is not known, or there is none. */
    public String snapshot() {
        return snapshot;
    }

    /** The id of the field that a column of the table is; null where there is none. */
    public Object field(String column) {
        return fields.get(column);
    }

    void begins() {
        try {
            before.clear();
            Iterator all = snapshots();
            while (all.hasNext()) {
                before.add(DataFiles.known(all.next(), "snapshotId"));
            }
            known = true;
        } catch (Throwable unknown) {
            known = false;
        }
    }

    void committed() {
        try {
            Object found = null;
            int count = 0;
            Iterator all = snapshots();
            while (all.hasNext()) {
                Object each = all.next();
                Object id = DataFiles.known(each, "snapshotId");
                if (!before.contains(id) && application.equals(((Map) DataFiles.known(each, "summary")).get("spark.app.id"))) {
                    found = id;
                    count++;
                }
            }
            snapshot = known && count == 1 ? found.toString() : null;
        } catch (Throwable unknown) {
            snapshot = null;
        }
    }

    private Iterator snapshots() {
        return ((Iterable) DataFiles.known(table, "snapshots")).iterator();
    }
}
