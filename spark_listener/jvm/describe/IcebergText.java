package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.DataFiles;
import headwater.shim.Untyped;
import headwater.write.iceberg.TableCommit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/** The parts of a manifest that only Iceberg tables have: the ids of their fields, and the times of their data files. */
final class IcebergText {
    private static final int FEW = 8; // files of one folder: more are listed with it

    private IcebergText() {}

    /**
     * The columns of the table as the scan knows them, each with the id of its field. A column without an id gets the
     * field that its name identifies.
     */
    static List<Map<String, Object>> columns(DataSourceV2ScanRelation leaf) {
        List<Map<String, Object>> columns = SourceList.columns(leaf.relation().schema());
        Map<Object, Object> ids = new HashMap<>();
        Set<Object> filled = new HashSet<>(); // ids of fields that are not null where a file lacks them
        try {
            constants(leaf, filled);
            for (Object field : ((Iterable<?>) DataFiles.known(DataFiles.known(leaf.scan(), "schema"), "columns"))) {
                ids.put(DataFiles.known(field, "name"), DataFiles.known(field, "fieldId"));
                if (Accessors.get(field, "initialDefault") != null) {
                    filled.add(DataFiles.known(field, "fieldId"));
                }
            }
        } catch (RuntimeException unknown) {
            return columns;
        }
        List<Map<String, Object>> result = new ArrayList<>();
        for (Map<String, Object> column : columns) {
            if (ids.containsKey(column.get("name"))) { // others are Iceberg's own columns, which a command reads
                column.put("id", ids.get(column.get("name")));
                if (filled.contains(column.get("id"))) {
                    column.put("default", true);
                }
                result.add(column);
            }
        }
        return result;
    }

    /**
     * Add the columns that partition the table now or did so earlier. The table itself may supply their values for
     * files that other programs wrote.
     */
    private static void constants(DataSourceV2ScanRelation leaf, Set<Object> ids) {
        Map<?, Object> specs = Untyped.value(DataFiles.known(DataFiles.known(leaf.scan(), "table"), "specs"));
        for (Object value : specs.values()) {
            for (Object object : ((Iterable<?>) DataFiles.known(value, "fields"))) {
                ids.add(DataFiles.known(object, "sourceId"));
            }
        }
    }

    /** Adds to a sink the snapshot that the write made, the numbers of its rows, and the ids of the fields that it filled. */
    static void written(TableCommit table, Map<String, Object> sink) {
        if (table.snapshot() != null) {
            sink.put("version", table.snapshot());
        }
        List<Map<String, Object>> numbered = table.numbered();
        if (!numbered.isEmpty()) {
            sink.put("numbered", numbered);
        }
        List<Map<String, Object>> columns = Untyped.maps(sink.get("columns"));
        for (int i = 0; columns != null && i < columns.size(); i++) {
            Map<String, Object> column = columns.get(i);
            if (table.field((String) column.get("name")) != null) {
                column.put("id", table.field((String) column.get("name")));
            }
        }
    }

    /**
     * Look up the times of a source's files, which the table does not know. A missing file gets no time, and no file is
     * linked to it.
     */
    static void look(Map<String, Object> source, Configuration conf) {
        Map<Path, List<Map<String, Object>>> folders = new HashMap<>();
        List<Map<String, Object>> files = Untyped.maps(source.get("files"));
        for (int i = 0; files != null && i < files.size(); i++) {
            Path folder = new Path((String) files.get(i).get("path")).getParent();
            if (!folders.containsKey(folder)) {
                folders.put(folder, new ArrayList<>());
            }
            folders.get(folder).add(files.get(i));
        }
        for (Map.Entry<Path, List<Map<String, Object>>> folder : folders.entrySet()) {
            try {
                look(folder.getKey(), folder.getValue(), conf);
            } catch (Exception gone) {
                // what cannot be looked at keeps no time
            }
        }
    }

    private static void look(Path folder, List<Map<String, Object>> files, Configuration conf) throws Exception {
        FileSystem system = folder.getFileSystem(conf);
        Map<Path, FileStatus> listed = new HashMap<>();
        if (files.size() > FEW) {
            FileStatus[] statuses = system.listStatus(folder);
            for (FileStatus status : statuses) {
                listed.put(status.getPath(), status);
            }
        }
        for (Map<String, Object> file : files) {
            Path path = new Path((String) file.get("path"));
            FileStatus status = listed.get(path);
            try {
                status = status == null ? system.getFileStatus(path) : status;
                file.put("modified", status.getModificationTime());
            } catch (java.io.IOException gone) {
                // another file of the folder may be there
            }
        }
    }
}
