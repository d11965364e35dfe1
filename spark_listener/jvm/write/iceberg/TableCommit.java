package headwater.write.iceberg;

import headwater.shim.Accessors;
import headwater.shim.DataFiles;
import headwater.shim.Parts;
import headwater.shim.Untyped;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A write to an Iceberg table: the ids of the fields that it fills, and the snapshot of its commit. That is the
 * snapshot of this application that the table did not have before. If concurrent commits make that ambiguous, no
 * snapshot is named. Some catalogs return the complete history only in a slow request, so only the snapshots between
 * the earlier and the present head are read.
 */
public final class TableCommit {
    private static final int MOST = 1000;
    private static final int MOST_NUMBERED = 500;

    private final Object table; // Iceberg's
    private final String application;
    private final Map<Object, Object> fields = new HashMap<>(); // name of a column -> Integer
    private final Set<Object> before = new HashSet<>(); // ids of snapshots
    private boolean known;
    private boolean staged; // a commit need not be of any branch
    private volatile String snapshot;

    public TableCommit(Object table, String application) {
        this.table = table;
        this.application = application;
        for (Object column : ((Iterable<?>) DataFiles.known(DataFiles.known(table, "schema"), "columns"))) {
            fields.put(DataFiles.known(column, "name"), DataFiles.known(column, "fieldId"));
        }
    }

    /** Null if it is not known, or if there is none. */
    public String snapshot() {
        return snapshot;
    }

    /** The id of a column's field, or null. */
    public Object field(String column) {
        return fields.get(column);
    }

    /** The numbers of the first rows of the data files that the commit brought; empty where the table numbers none, or they are many. */
    public List<Map<String, Object>> numbered() {
        List<Map<String, Object>> result = new ArrayList<>();
        try {
            Object made = snapshot == null ? null : snapshot(Long.valueOf(snapshot));
            if (made == null || Accessors.get(made, "firstRowId") == null) {
                return result;
            }
            Iterator<?> files = ((Iterable<?>) added(made).invoke(made, DataFiles.known(table, "io"))).iterator();
            while (files.hasNext() && result.size() <= MOST_NUMBERED) {
                Object file = files.next();
                Map<String, Object> entry = Parts.of(
                    "path", DataFiles.location(file), "first", DataFiles.known(file, "firstRowId"),
                    "version", DataFiles.known(file, "dataSequenceNumber"),
                    "added", DataFiles.known(file, "fileSequenceNumber"));
                result.add(entry);
            }
            return result.size() > MOST_NUMBERED ? new ArrayList<>() : result;
        } catch (Throwable unknown) {
            return new ArrayList<>();
        }
    }

    /** The method that returns the data files that a snapshot added. */
    private static Method added(Object snapshot) throws Exception {
        Method[] methods = snapshot.getClass().getMethods();
        for (Method method : methods) {
            if (method.getName().equals("addedDataFiles") && method.getParameterTypes().length == 1) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new NoSuchMethodException("addedDataFiles");
    }

    void begins() {
        try {
            before.clear();
            staged = "true".equalsIgnoreCase((String) (Untyped.map(DataFiles.known(table, "properties"))).get("write.wap.enabled"));
            before.addAll(staged ? ids("snapshots") : heads());
            before.addAll(ids("history"));
            known = true;
        } catch (Throwable unknown) {
            known = false;
        }
    }

    void committed() {
        try {
            Set<Object> made = new HashSet<>();
            for (Object id : (known ? added() : new HashSet<>())) {
                if (application.equals((Untyped.map(DataFiles.known(snapshot(id), "summary"))).get("spark.app.id"))) {
                    made.add(id);
                }
            }
            snapshot = made.size() == 1 ? made.iterator().next().toString() : null;
        } catch (Throwable unknown) {
            snapshot = null;
        }
    }

    /** The ids of snapshots that the table did not have before. Throws where they are too many to look at. */
    private Set<Object> added() throws Exception {
        Set<Object> result = new HashSet<>(staged ? ids("snapshots") : heads());
        result.removeAll(before);
        List<Object> open = new ArrayList<>(result);
        while (!open.isEmpty()) {
            Object parent = Accessors.get(snapshot(open.remove(open.size() - 1)), "parentId");
            if (parent != null && !before.contains(parent) && snapshot(parent) != null && result.add(parent)) {
                open.add(parent);
            }
            if (result.size() > MOST) {
                throw new IllegalStateException("others commit to the table too often");
            }
        }
        return result;
    }

    /** The ids of the snapshots that are the heads of branches, or have tags. */
    private Set<Object> heads() {
        Set<Object> result = new HashSet<>();
        for (Object value : (Untyped.map(DataFiles.known(table, "refs"))).values()) {
            result.add(DataFiles.known(value, "snapshotId"));
        }
        Object current = Accessors.get(table, "currentSnapshot");
        if (current != null) {
            result.add(DataFiles.known(current, "snapshotId"));
        }
        return result;
    }

    private Set<Object> ids(String of) {
        Set<Object> result = new HashSet<>();
        for (Object snapshot : (Iterable<?>) DataFiles.known(table, of)) {
            result.add(DataFiles.known(snapshot, "snapshotId"));
        }
        return result;
    }

    private Object snapshot(Object id) throws Exception {
        Method method = table.getClass().getMethod("snapshot", Long.TYPE);
        method.setAccessible(true);
        return method.invoke(table, id);
    }
}
