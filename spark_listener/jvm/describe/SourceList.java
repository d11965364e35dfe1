package headwater.describe;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Refused;
import headwater.rewrite.iceberg.TableScans;
import headwater.rewrite.scans.FileScans;
import headwater.rewrite.scans.formats.RecordFormat;
import headwater.rewrite.scans.formats.RecordFormats;
import headwater.shim.Parts;
import headwater.shim.Scala;
import headwater.source.MemoryRelation;
import headwater.source.SourceFiles;
import headwater.text.LeafSources;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The sources of a plan. The capture's sources come first and keep their order, so that references find their files. */
public final class SourceList implements LeafSources {
    private final Capture capture;
    private final Sources all;
    private final int first; // the number of the capture's source 0
    private final Map<Object, Integer> others = new LinkedHashMap<>(); // the number of each relation that the capture does not know

    SourceList(Capture capture, Sources all) {
        this.capture = capture;
        this.all = all;
        this.first = all.reserve(capture == null ? 0 : capture.sources.size());
    }

    /** The number in the description of what the capture calls `source`. */
    int number(int source) {
        return first + source;
    }

    public Integer of(LogicalPlan leaf) {
        if (leaf instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation hadoopFsRelation) {
            return files(relation, hadoopFsRelation);
        }
        MemoryRelation rows = capture == null ? null : capture.inMemory(leaf);
        if (rows != null) {
            Map<String, Object> described = rows.describe();
            described.put("columns", columns(leaf.schema()));
            if (leaf instanceof DataSourceV2ScanRelation dataSourceV2ScanRelation) { // written in Python: what it reads only its code knows
                TableText.nameUnknown(dataSourceV2ScanRelation.relation().table(), described);
            }
            return add(rows, described);
        }
        if (leaf instanceof LogicalRelation relation) {
            Map<String, Object> described = table(relation);
            Map<String, Object> keyed = capture == null ? null : capture.keyed(leaf);
            if (keyed != null) {
                described.putAll(keyed);
            }
            return add(relation.relation(), described);
        }
        if (leaf instanceof HiveTableRelation hiveTableRelation) {
            CatalogTable table = hiveTableRelation.tableMeta();
            Map<String, Object> described = new LinkedHashMap<>();
            Tables.hive(table, described);
            described.put("columns", columns(leaf.schema()));
            return add(table.identifier(), described);
        }
        LogicalRelation files = leaf instanceof DataSourceV2ScanRelation dataSourceV2ScanRelation ? readByTheFirstKind(dataSourceV2ScanRelation) : null;
        if (files != null) {
            return files(files, (HadoopFsRelation) files.relation());
        }
        if (leaf instanceof DataSourceV2ScanRelation scan) {
            Map<String, Object> described = TableText.scanned(scan);
            if (described == null) {
                return null;
            }
            int number = capture != null && TableScans.is(scan.scan()) ? capture.sourceNumber(TableScans.key(scan)) : -1;
            if (number >= 0) {
                return tableFiles(scan, number, described);
            }
            described.put("columns", columns(scan.relation().table().schema())); // the scan may have hidden columns, or aggregates
            List<Object> key = new ArrayList<>(); // the same table at two versions is two sources
            key.add(described.get("name"));
            key.add(described.get("jdbc"));
            key.add(described.containsKey("paths") ? described.get("paths") : described.get("path"));
            key.add(described.get("version"));
            return add(key, described);
        }
        if (leaf instanceof StreamingDataSourceV2ScanRelation streamingDataSourceV2ScanRelation) {
            Map<String, Object> described = StreamText.read(streamingDataSourceV2ScanRelation);
            if (described == null) {
                return null;
            }
            described.put("columns", columns(leaf.schema()));
            List<Object> key = new ArrayList<>();
            key.add(described.get("kafka"));
            key.add(described.get("path"));
            return add(key, described);
        }
        if (leaf instanceof ResolvedTable) {
            Map<String, Object> described = TableText.target(leaf);
            return described == null ? null : add(described.get("name"), described);
        }
        return null;
    }

    /** The scan that the capture reads in place of this one. Null if there is none. */
    private LogicalRelation readByTheFirstKind(DataSourceV2ScanRelation leaf) {
        if (capture == null || !FileScans.is(leaf)) {
            return null;
        }
        try {
            LogicalRelation scan = FileScans.first(leaf);
            return capture.sourceNumber((HadoopFsRelation) scan.relation()) < 0 ? null : scan;
        } catch (Refused none) {
            return null;
        }
    }

    private Integer files(LogicalRelation leaf, HadoopFsRelation relation) {
        int number = capture == null ? -1 : capture.sourceNumber(relation);
        if (number < 0) {
            List<Object> key = new ArrayList<>();
            key.add(relation.location());
            key.add(relation.options());
            Integer known = others.get(key); // hundreds of branches may read it
            return known != null ? known : add(key, describe(leaf, relation));
        }
        if (!all.has(number(number))) {
            Map<String, Object> described = describe(leaf, relation);
            SourceFiles files = capture.sources.get(number);
            described.put("files", listed(files, relation.partitionSchema()));
            described.put("splits", new ArrayList<>());
            all.put(number(number), described);
        }
        return number(number);
    }

    /** A table whose data files are known. */
    private Integer tableFiles(DataSourceV2ScanRelation scan, int number, Map<String, Object> described) {
        if (!all.has(number(number))) {
            described.put("columns", IcebergText.columns(scan));
            described.put("files", listed(capture.sources.get(number), new StructType()));
            described.put("splits", new ArrayList<>());
            all.put(number(number), described);
        }
        return number(number);
    }

    private Integer add(Object key, Map<String, Object> described) {
        Integer number = others.get(key);
        if (number == null) {
            number = all.reserve(1);
            others.put(key, number);
            all.put(number.intValue(), described);
        }
        return number;
    }

    private Map<String, Object> describe(LogicalRelation leaf, HadoopFsRelation relation) {
        Map<String, Object> result = new LinkedHashMap<>();
        String whole = wholeTable(leaf, relation);
        if (whole != null) {
            result.put("path", whole);
        } else {
            RootPaths.put(Scala.list(relation.location().rootPaths()), result);
        }
        if (leaf.catalogTable().isDefined()) {
            Tables.name(leaf.catalogTable().get(), result);
        }
        result.put("format", TableText.format(relation, format(relation.fileFormat())));
        Object version = TableText.version(relation);
        if (version != null) {
            result.put("version", String.valueOf(version));
        }
        Map<String, Object> options = options(relation.options());
        RecordFormat known = RecordFormats.of(relation.fileFormat());
        if (capture != null && known != null) {
            known.addSession(options, capture);
            known.addRelation(options, relation);
        }
        result.put("options", options);
        boolean isOfChanges = DeltaTables.isOfChanges(relation.location());
        result.put("columns", columns(isOfChanges ? DeltaTables.ofTable(relation.schema()) : relation.schema()));
        List<String> partition = new ArrayList<>();
        StructField[] fields = (isOfChanges ? DeltaTables.ofTable(relation.partitionSchema()) : relation.partitionSchema()).fields();
        for (StructField field : fields) {
            partition.add(field.name());
        }
        result.put("partition_columns", partition);
        return result;
    }

    /**
     * The folder of a catalog table for which Spark lists the folders of selected partitions only. Null if Spark lists
     * the folder of the table.
     */
    public static String wholeTable(LogicalRelation leaf, HadoopFsRelation relation) {
        if (!leaf.catalogTable().isDefined() || relation.partitionSchema().isEmpty() || TableText.format(relation, "").equals("delta")) {
            return null;
        }
        Object location = Scala.orNull(leaf.catalogTable().get().storage().locationUri());
        return location == null ? null : new Path((URI) location).toString();
    }

    /**
     * The source of a relation of Spark's first interface: its connector, its place, its name in the catalog, or a name
     * that is unique to it.
     */
    static Map<String, Object> table(LogicalRelation leaf) {
        Map<String, Object> connected = Connectors.read(leaf.relation());
        Map<String, Object> result = connected == null ? DeltaTables.changeFeed(leaf.relation()) : connected;
        if (result != null) {
            result.put("columns", columns(connected == null ? DeltaTables.ofTable(leaf.schema()) : leaf.schema()));
            return result;
        }
        result = new LinkedHashMap<>();
        if (leaf.catalogTable().isDefined()) {
            Tables.name(leaf.catalogTable().get(), result);
        } else {
            UnknownSources.name(leaf.relation(), null, result);
        }
        result.put("columns", columns(leaf.schema()));
        return result;
    }

    private static List<Map<String, Object>> listed(SourceFiles files, StructType partition) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (SourceFiles.Entry entry : files.entries()) {
            Map<String, Object> file = Parts.of(
                "ordinal", entry.ordinal(), "ordinals", entry.ordinals(), "path", entry.path(),
                "length", entry.length(), "modified", entry.modified(),
                "partition", values(entry.partition(), partition));
            result.add(file);
        }
        return result;
    }

    private static Map<String, Object> values(InternalRow row, StructType schema) {
        Map<String, Object> result = new LinkedHashMap<>();
        for (int i = 0; i < schema.length(); i++) {
            StructField field = schema.apply(i);
            Object value = row.isNullAt(i) ? null : row.get(i, field.dataType());
            result.put(field.name(), value == null ? null : new Literal(value, field.dataType()).toString());
        }
        return result;
    }

    static String format(FileFormat format) {
        return format instanceof DataSourceRegister dataSourceRegister ? dataSourceRegister.shortName() : format.toString().toLowerCase(Locale.ROOT);
    }

    static Map<String, Object> options(scala.collection.immutable.Map<String, String> options) {
        Map<String, Object> result = new LinkedHashMap<>();
        for (Map.Entry<String, String> entry : Scala.map(options).entrySet()) {
            result.put(String.valueOf(entry.getKey()).toLowerCase(Locale.ROOT), String.valueOf(entry.getValue()));
        }
        return result;
    }

    static List<Map<String, Object>> columns(StructType schema) {
        List<Map<String, Object>> result = new ArrayList<>();
        StructField[] fields = schema.fields();
        for (StructField field : fields) {
            Map<String, Object> column = Parts.of("name", field.name(), "type", field.dataType().catalogString());
            if (field.metadata().contains("EXISTS_DEFAULT")) {
                column.put("default", true);
            }
            result.add(column);
        }
        return result;
    }
}
