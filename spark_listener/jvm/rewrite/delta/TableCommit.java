package headwater.rewrite.delta;

import headwater.shim.Parts;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
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
 * A commit to a Delta table: the table after the commit and, once it is done, the added files. Delta's classes are
 * accessed by name. Parts that a version of Delta does not have are null, and then no files are reported.
 */
public abstract class TableCommit {
    private static final Pattern NAME = Pattern.compile("part-(\\d{5,})-[0-9a-f-]{36}[^/]*$"); // the number is the task's partition

    abstract Object metadata();

    abstract Object log();

    /** The version that it made; null while it is not committed. */
    public abstract Object version();

    /**
     * The added files by the partition of the task that wrote them, in the order of their creation. Each has path,
     * length, modified and rows, and for a table with row numbers first and version. Null before the commit, or if the
     * files are not known.
     */
    public abstract Map<Integer, List<Map<String, Object>>> files();

    /** The catalog's entry of the table. Null if there is none or it is not known. */
    public abstract Object catalogTable();

    /** The place of the table. Null if it is not known. */
    public final String path() {
        Object path = get(log(), "dataPath");
        return path == null ? null : path.toString();
    }

    /** The table's properties. */
    public final Map<?, Object> properties() {
        Object found = get(metadata(), "configuration");
        return found instanceof scala.collection.Map<?, ?> ? Scala.map(Untyped.value(found)) : new HashMap<>();
    }

    /**
     * The names of columns in files that are not columns of the table. They contain the numbers and versions of rows
     * that were carried over.
     */
    public final Collection<Object> hidden() {
        List<Object> names = new ArrayList<>();
        Map<?, Object> properties = properties();
        names.add(properties.get("delta.rowTracking.materializedRowIdColumnName"));
        names.add(properties.get("delta.rowTracking.materializedRowCommitVersionColumnName"));
        return names;
    }

    public final StructType schema() {
        return (StructType) get(metadata(), "schema");
    }

    public final List<Object> partitionColumns() {
        return Scala.list((Iterable<?>) get(metadata(), "partitionColumns"));
    }

    /** The mapping of columns: `none`, `name` or `id`. */
    public final String mapping() {
        return String.valueOf(get(get(metadata(), "columnMappingMode"), "name"));
    }

    /**
     * Add the files of the actions to the files by partition, with at most `most` partitions, numbered from `first` on.
     * False if a file has too few details.
     */
    final boolean add(Map<Integer, List<Map<String, Object>>> files, Iterator<Object> actions, int first, int most) {
        while (actions.hasNext()) {
            Object action = actions.next();
            if (!is(action, "AddFile") || get(action, "deletionVector") != null) {
                continue; // what has a vector was there before
            }
            Map<String, Object> file = file(action);
            Matcher name = NAME.matcher(String.valueOf(get(action, "path")));
            if (file == null || !name.find() || Integer.parseInt(name.group(1)) >= most) {
                return false;
            }
            Integer partition = first + Integer.parseInt(name.group(1));
            List<Map<String, Object>> known = files.get(partition);
            if (known == null) {
                known = new ArrayList<>();
                files.put(partition, known);
            }
            known.add(file);
        }
        return true;
    }

    private Map<String, Object> file(Object added) {
        Object rows = get(added, "numPhysicalRecords");
        Object path = get(added, "path");
        Object length = get(added, "size");
        Object modified = get(added, "modificationTime");
        if (!(rows instanceof Option<?> option) || option.isEmpty() || path == null || !(length instanceof Long) || !(modified instanceof Long)) {
            return null;
        }
        Path relative = new Path(URI.create(String.valueOf(path)));
        Map<String, Object> result = Parts.of(
            "path", (relative.isAbsolute() ? relative : new Path(path(), relative)).toString(), "length", length,
            "modified", modified, "rows", option.get());
        Object first = get(added, "baseRowId");
        Object version = get(added, "defaultRowCommitVersion");
        if (first instanceof Option<?> ownOption && ownOption.isDefined() && version instanceof Option<?> theOption && theOption.isDefined()) {
            result.put("first", ownOption.get());
            result.put("version", theOption.get());
        }
        return result;
    }

    /** The names that columns have in the files, where they are mapped, as options of a manifest. */
    public static void addNames(Map<String, Object> options, String mapping, StructType schema) {
        if (mapping.equals("none") || schema == null) {
            return;
        }
        options.put("columnmapping", mapping);
        StructField[] fields = schema.fields();
        for (StructField field : fields) {
            if (field.metadata().contains("delta.columnMapping.physicalName")) {
                options.put("physicalname." + field.name(), field.metadata().getString("delta.columnMapping.physicalName"));
            }
        }
    }

    static boolean is(Object action, String type) {
        return action.getClass().getSimpleName().equals(type);
    }

    /** The result of a method without parameters. Null if there is none, or if it fails. */
    static Object get(Object of, String name) {
        for (Class<?> type = of == null ? null : of.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Method method = type.getDeclaredMethod(name);
                method.setAccessible(true);
                return method.invoke(of);
            } catch (NoSuchMethodException further) { // perhaps above
            } catch (Throwable unreadable) {
                return null;
            }
        }
        return null;
    }
}
