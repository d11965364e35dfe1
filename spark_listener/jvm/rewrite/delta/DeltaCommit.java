package headwater.rewrite.delta;

import headwater.shim.Scala;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterable;

/**
 * A transaction of Delta that writes: the table as it will be, and, once it is committed, which files it added. Delta's classes are other
 * people's and met by name; what a version of it does not have is null here, and then nothing is told of the files.
 */
public final class DeltaCommit {
    private static final String TRANSACTION = "org.apache.spark.sql.delta.OptimisticTransaction";
    private static final Pattern NAME = Pattern.compile("part-(\\d{5,})-[0-9a-f-]{36}[^/]*$"); // the task's partition stands in it

    private static volatile ClassLoader asked; // whose answer is known
    private static volatile Class type; // null: Delta is not there

    private final Object transaction;

    private DeltaCommit(Object transaction) {
        this.transaction = transaction;
    }

    /** Whether the program has Delta. Whoever has not pays for no look at the stack. */
    static boolean isThere() {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        if (loader != asked) {
            try {
                type = Class.forName(TRANSACTION, false, loader);
            } catch (Throwable absent) {
                type = null;
            }
            asked = loader;
        }
        return type != null;
    }

    /** The transaction that this thread is in; null if it is in none. */
    static DeltaCommit active() {
        try {
            Option found = (Option) type.getMethod("getActive", new Class[0]).invoke(null, new Object[0]);
            return found.isDefined() ? new DeltaCommit(found.get()) : null;
        } catch (Throwable unknown) { // another version of Delta
            return null;
        }
    }

    /** Where the table lies; null where that is not known. */
    public String path() {
        Object path = get(get(transaction, "deltaLog"), "dataPath");
        return path == null ? null : path.toString();
    }

    /** The catalog's entry of the table; null where it is none's, or none is known. */
    public Object catalogTable() {
        Object table = get(transaction, "catalogTable");
        return table instanceof Option ? Scala.orNull((Option) table) : null;
    }

    /** The table's properties. */
    public Map properties() {
        Object found = get(metadata(), "configuration");
        return found instanceof scala.collection.Map ? Scala.map((scala.collection.Map) found) : new HashMap();
    }

    public StructType schema() {
        return (StructType) get(metadata(), "schema");
    }

    public List partitionColumns() {
        return Scala.list((Iterable) get(metadata(), "partitionColumns"));
    }

    /** How columns are mapped: `none`, `name` or `id`. */
    public String mapping() {
        return String.valueOf(get(get(metadata(), "columnMappingMode"), "name"));
    }

    private Object metadata() {
        return get(transaction, "metadata");
    }

    /** The version that it made; null while it is not committed. */
    public Object version() {
        return get(committed(), "committedVersion");
    }

    /**
     * The files that it added, by the partition of the task that wrote them (Integer), each a Map of path, length, modified and rows, in the order
     * in which the task opened them. Null where it has not committed, or does not tell.
     */
    public Map files() {
        Object actions = get(committed(), "committedActions");
        if (!(actions instanceof Iterable)) {
            return null;
        }
        Map result = new HashMap();
        Iterator all = Scala.list((Iterable) actions).iterator();
        while (all.hasNext()) {
            Object action = all.next();
            if (!action.getClass().getSimpleName().equals("AddFile") || get(action, "deletionVector") != null) {
                continue; // what has a vector was there before
            }
            Map file = file(action);
            Matcher name = NAME.matcher(String.valueOf(get(action, "path")));
            if (file == null || !name.find()) {
                return null;
            }
            Integer partition = Integer.valueOf(name.group(1));
            List known = (List) result.get(partition);
            if (known == null) {
                known = new ArrayList();
                result.put(partition, known);
            }
            known.add(file);
        }
        return result;
    }

    private Map file(Object added) {
        Object rows = get(added, "numPhysicalRecords");
        Object path = get(added, "path");
        Object length = get(added, "size");
        Object modified = get(added, "modificationTime");
        if (!(rows instanceof Option) || ((Option) rows).isEmpty() || path == null || !(length instanceof Long) || !(modified instanceof Long)) {
            return null;
        }
        Path relative = new Path(URI.create(String.valueOf(path)));
        Map result = new LinkedHashMap();
        result.put("path", (relative.isAbsolute() ? relative : new Path(path(), relative)).toString());
        result.put("length", length);
        result.put("modified", modified);
        result.put("rows", ((Option) rows).get());
        return result;
    }

    private Object committed() {
        Object found = get(transaction, "getCommitted");
        return found instanceof Option ? Scala.orNull((Option) found) : null;
    }

    /** The names that columns have in the files, where they are mapped, as options of a manifest. */
    public static void addNames(Map options, String mapping, StructType schema) {
        if (mapping.equals("none") || schema == null) {
            return;
        }
        options.put("columnmapping", mapping);
        StructField[] fields = schema.fields();
        for (int i = 0; i < fields.length; i++) {
            if (fields[i].metadata().contains("delta.columnMapping.physicalName")) {
                options.put("physicalname." + fields[i].name(), fields[i].metadata().getString("delta.columnMapping.physicalName"));
            }
        }
    }

    /** What a method without parameters gives; null if there is none, or it fails. */
    private static Object get(Object of, String name) {
        for (Class type = of == null ? null : of.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Method method = type.getDeclaredMethod(name, new Class[0]);
                method.setAccessible(true);
                return method.invoke(of, new Object[0]);
            } catch (NoSuchMethodException further) { // perhaps above
            } catch (Throwable unreadable) {
                return null;
            }
        }
        return null;
    }
}
