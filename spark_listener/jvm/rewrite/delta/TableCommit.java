package headwater.rewrite.delta;

import headwater.shim.Scala;
import headwater.shim.Untyped;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
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
 * What is to be committed to a table of Delta: the table as it will be, and, once that is done, which files were added. Delta's classes are other
 * people's and met by name; what a version of it does not have is null here, and then nothing is told of the files.
 */
public abstract class TableCommit {
    private static final Pattern NAME = Pattern.compile("part-(\\d{5,})-[0-9a-f-]{36}[^/]*$"); // the task's partition stands in it

    abstract Object metadata();

    abstract Object log();

    /** The version that it made; null while it is not committed. */
    public abstract Object version();

    /**
     * The files that it added, by the partition of the task that wrote them (Integer), each a Map of path, length, modified, rows, and where the
     * table numbers its rows first and version, in the order in which the task opened them. Null where it has not committed, or does not tell.
     */
    public abstract Map<Integer, List<Map<String, Object>>> files();

    /** The catalog's entry of the table; null where it is none's, or none is known. */
    public abstract Object catalogTable();

    /** Where the table lies; null where that is not known. */
    public final String path() {
        Object path = get(log(), "dataPath");
        return path == null ? null : path.toString();
    }

    /** The table's properties. */
    public final Map<?, Object> properties() {
        Object found = get(metadata(), "configuration");
        return found instanceof scala.collection.Map<?, ?> ? Scala.map(Untyped.value(found)) : new HashMap<>();
    }

    /** The names of columns in files that are none of the table's: they hold the numbers and versions of rows that were carried over. */
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

    /** How columns are mapped: `none`, `name` or `id`. */
    public final String mapping() {
        return String.valueOf(get(get(metadata(), "columnMappingMode"), "name"));
    }

    /** Adds the files of the actions to those of each partition, of which `most` are numbered from `first` on. False: one does not tell enough. */
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
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("path", (relative.isAbsolute() ? relative : new Path(path(), relative)).toString());
        result.put("length", length);
        result.put("modified", modified);
        result.put("rows", option.get());
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

    /** What a method without parameters gives; null if there is none, or it fails. */
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
