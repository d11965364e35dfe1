package headwater.replay;

import com.fasterxml.jackson.databind.ObjectMapper;
import headwater.rewrite.core.Capture;
import headwater.rewrite.nodes.HiddenProject;
import headwater.rewrite.scans.NumberedScan;
import headwater.rewrite.scans.RecordChange;
import headwater.rewrite.scans.ScanCheck;
import headwater.rewrite.scans.formats.RecordFormat;
import headwater.rewrite.scans.formats.RecordFormats;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.source.ChosenRecords;
import headwater.source.NumberedParquet;
import headwater.source.OneSpelling;
import headwater.source.OrdinalFileIndex;
import headwater.source.RankedFormat;
import headwater.source.SelectedFormat;
import headwater.source.SourceFiles;
import headwater.source.WantedRows;
import headwater.tap.Reports;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;

/**
 * The optimizer rule of a replay. The rule excludes, keeps and edits records at the scans of every query, and stops a
 * program that would write outside of the shadow root. Unlike capture, it fails the query if it cannot do its work. A
 * replay that silently repeats the original is worthless, and one that overwrites the original is worse.
 */
public final class ReplayRule extends Rule<LogicalPlan> implements RecordChange {
    // Commands that change no data. Any other that is not led to the shadow is refused: a list of what is harmful would be too short.
    private static final Pattern HARMLESS = Pattern.compile(
        "(CreateView|DropTempView|Set|SetCatalog|SetNamespace|Reset|Show|Describe|Explain|ListFiles|ListJars|AddJar|AddJars|AddFiles|CacheTable|"
            + "CacheTableAsSelect|UncacheTable|ClearCache|RefreshTable|Refresh|CreateFunction|CreateTempView|CreateTempViewUsing|GetTable|Streaming)"
            + "[A-Za-z]*(Command|\\$)?");

    private static final Pattern INFERENCE = Pattern.compile("org\\.apache\\.spark\\.sql\\.execution\\.datasources\\.(csv|json|xml)\\.");

    private static final Set<String> FORM = Set.of(
        "header", "sep", "delimiter", "quote", "escape", "nullvalue", "emptyvalue", "encoding", "charset", "linesep");

    private final String shadow; // path of the shadow root, without scheme
    private final Set<Object> noted = new HashSet<>();
    private final ReplayRecords records;
    private int watched; // number of watched scans
    private final PartialResults partials; // null: every aggregate is computed from all of its input

    ReplayRule(String shadow, ReplayRecords records) {
        this.shadow = shadow;
        this.records = records;
        partials = records.partials == null ? null : new PartialResults(records.partials, records.changed, new PartialNotes());
    }

    public String ruleName() {
        return "headwater.replay.ReplayRule";
    }

    public LogicalPlan apply(LogicalPlan node) {
        checkWrite(node);
        if (partials == null) {
            return applyToScans(node);
        }
        return partials.isRunning() ? node : partials.apply(applyToScans(node));
    }

    private void checkWrite(LogicalPlan plan) {
        Path table = plan instanceof Command ? ShadowWrites.placeOf(plan) : null;
        if (plan instanceof InsertIntoHadoopFsRelationCommand insert) {
            Path output = insert.outputPath();
            String path = output.toUri().getPath();
            String scheme = output.toUri().getScheme();
            boolean isLocal = scheme == null || scheme.equals("file");
            boolean isPartial = partials != null && partials.isRunning() && partials.has(path);
            if (!isLocal || !(isPartial || path.startsWith(shadow + "/"))) {
                throw new IllegalStateException("Replay refuses to write to " + output + ", which is outside its shadow folder " + shadow + ".");
            }
            if (!isPartial) {
                noteForm(path, insert);
            }
        } else if (table != null) {
            if (!isInShadow(table)) {
                throw new IllegalStateException("Replay refuses to write to the table " + table + ", which is outside its shadow folder " + shadow + ".");
            }
        } else if (plan instanceof Command && !HARMLESS.matcher(plan.getClass().getSimpleName()).matches()) {
            throw new IllegalStateException("Replay cannot lead " + plan.nodeName() + " to a shadow folder; it covers programs that write files to paths.");
        }
        if (plan.getClass().getSimpleName().startsWith("WriteTo")) { // sinks of streams
            throw new IllegalStateException("Replay does not cover streams (" + plan.nodeName() + ").");
        }
    }

    private boolean isInShadow(Path place) {
        String scheme = place.toUri().getScheme();
        return (scheme == null || scheme.equals("file")) && place.toUri().normalize().getPath().startsWith(shadow + "/");
    }

    /** A relation that this replay wrote again must be read from its shadow, by whatever way the program names it. */
    private void checkRead(HadoopFsRelation relation) {
        for (Path root : Scala.list(relation.location().rootPaths())) {
            String path = shadowed(root);
            if (!path.startsWith(shadow + "/") && (isWritten(path, "_SUCCESS") || isWritten(path, "_delta_log"))) {
                throw new IllegalStateException("Replay would read " + root + " as it was, though it has written it again: read it by its path.");
            }
        }
    }

    private boolean isWritten(String path, String name) {
        return new java.io.File(shadow + path, name).exists();
    }

    /**
     * Whether Spark reads the lines of a CSV, JSON or XML file to infer a schema. A line is not a record then, and the
     * first line may be a header.
     */
    private static boolean infersSchema() {
        StackTraceElement[] calls = Thread.currentThread().getStackTrace();
        for (StackTraceElement call : calls) {
            if (INFERENCE.matcher(call.getClassName()).lookingAt()) {
                return true;
            }
        }
        return false;
    }

    private static String shadowed(Path path) {
        try {
            return OneSpelling.below(path);
        } catch (java.io.UnsupportedEncodingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private LogicalPlan applyToScans(LogicalPlan plan) {
        if (plan instanceof LogicalRelation relation) {
            return applyTo(relation);
        }
        List<LogicalPlan> children = Scala.list(plan.children());
        List<LogicalPlan> renewed = new ArrayList<>();
        boolean changed = false;
        for (LogicalPlan child : children) {
            LogicalPlan result = applyToScans(child);
            changed |= result != child;
            renewed.add(result);
        }
        return changed ? plan.withNewChildren(Scala.seq(renewed)) : plan;
    }

    private LogicalPlan applyTo(LogicalRelation scan) {
        if (!(scan.relation() instanceof HadoopFsRelation relation)) {
            return scan;
        }
        if (relation.location() instanceof OrdinalFileIndex || relation.location() instanceof ChosenFiles || relation.fileFormat() instanceof SelectedFormat) {
            return scan; // done already: the batch runs to a fixed point
        }
        checkRead(relation);
        if (relation.fileFormat() instanceof TextFileFormat && infersSchema()) {
            return scan;
        }
        if (!records.whole.isEmpty() && isChanged(relation)) {
            return withWholeFiles(scan, relation);
        }
        SourceFiles files = new SourceFiles(0, unit(relation));
        NumberedScan changed = change(scan, relation, files, null);
        return changed == null ? scan : new Project(Scala.widened(scan.output()), changed.plan());
    }

    /** The scan of a restricted relation with the files that are kept whole. It has no other records. */
    private LogicalPlan withWholeFiles(LogicalRelation scan, HadoopFsRelation relation) {
        Set<String> paths = new HashSet<>();
        for (SourceFiles.Entry entry : list(relation, new SourceFiles(0, 0L)).entries()) {
            String file = OneSpelling.of(entry.path());
            if (records.whole.contains(file) || !records.isRestricted(file)) {
                paths.add(entry.path());
            }
        }
        FileIndex files = new ChosenFiles(relation.location(), paths);
        HadoopFsRelation chosen = Nodes.relation(relation, files, relation.partitionSchema(), relation.dataSchema(), relation.fileFormat());
        return Nodes.scan(scan, chosen, scan.output());
    }

    /** For scans that a capture numbers. A scan with an index of ordinals is left alone afterwards. */
    public NumberedScan numbered(LogicalRelation scan, HadoopFsRelation relation, Capture capture) {
        checkRead(relation);
        if (!isChanged(relation)) {
            return null;
        }
        NumberedScan changed = change(scan, relation, capture.source(relation, unit(relation)), capture.reports);
        List<NamedExpression> columns = new ArrayList<>(Scala.<Attribute>list(scan.output()));
        columns.add(changed.reference());
        return new NumberedScan(new HiddenProject(Scala.seq(columns), changed.plan(), scan), changed.reference());
    }

    /** One ordinal a file, and no file in splits: a record's number is then its rank. */
    private static long unit(HadoopFsRelation relation) {
        RecordFormat known = RecordFormats.of(relation.fileFormat());
        return known == null || known.countsWholeFiles() ? 0L : Long.MAX_VALUE;
    }

    private boolean isChanged(HadoopFsRelation relation) {
        for (SourceFiles.Entry entry : list(relation, new SourceFiles(0, 0L)).entries()) {
            String file = OneSpelling.of(entry.path());
            if (records.excluded.containsKey(file) || records.edits.containsKey(file) || records.isRestricted(file)) {
                return true;
            }
        }
        return false;
    }

    private static SourceFiles list(HadoopFsRelation relation, SourceFiles files) {
        new OrdinalFileIndex(relation, files, relation.partitionSchema().add("_headwater_ordinal", "int")).listFiles(Scala.empty(), Scala.empty());
        return files;
    }

    /** The numbered scan with changed records. Null if none changes. */
    private NumberedScan change(LogicalRelation scan, HadoopFsRelation relation, SourceFiles files, Reports reports) {
        list(relation, files);
        ChosenRecords excluded = new ChosenRecords();
        ChosenRecords kept = new ChosenRecords();
        Map<String, long[]> keptRows = new HashMap<>(); // path -> rows
        Map<String, long[]> excludedRows = new HashMap<>();
        EditedScan edits = new EditedScan();
        boolean isRestricted = isRestricted(files, relation);
        boolean isEdited = false;
        for (SourceFiles.Entry entry : files.entries()) {
            String file = OneSpelling.of(entry.path());
            if (collect(entry.ordinal(), file, records.excluded, excluded)) {
                excludedRows.put(entry.path(), excluded.rows(entry.ordinal()));
            }
            if (collect(entry.ordinal(), file, records.kept, kept)) {
                keptRows.put(entry.path(), kept.rows(entry.ordinal()));
            }
            Map<Long, Map<String, String>> rows = records.edits.get(file);
            for (Map.Entry<Long, Map<String, String>> row : rows == null ? Map.<Long, Map<String, String>>of().entrySet() : rows.entrySet()) {
                edits.add(reference(entry.ordinal(), row.getKey()), row.getValue());
                isEdited = true;
                note(file);
            }
        }
        boolean isWatched = records.watch != null;
        if (excluded.isEmpty() && !isRestricted && !isEdited && !isWatched) {
            return null;
        }
        LogicalRelation read = isEdited ? scan.newInstance() : scan; // the edited columns get the ids of this scan
        RecordFormat format;
        try {
            format = ScanCheck.check(read, relation);
        } catch (RuntimeException unsupported) {
            if (!excluded.isEmpty() || isRestricted || isEdited) {
                throw unsupported;
            }
            append(".unwatched", relation.location().rootPaths().mkString(",") + ": " + unsupported.getMessage());
            return null;
        }
        boolean isCounted = reports == null && !isEdited && !isWatched && !records.shows && excluded.isEmpty() == isRestricted;
        if (isCounted && hasRows(relation, format)) {
            return new NumberedScan(selected(scan, relation, isRestricted ? keptRows : excludedRows, isRestricted), null); // nobody asks for numbers
        }
        NumberedScan numbered = NumberedScan.of(read, relation, format, files, reports, false);
        LogicalPlan plan = numbered.plan();
        if (isRestricted) {
            plan = restricted(plan, kept, keptRows);
        }
        if (isRestricted && records.shows) {
            int watch = watch(files);
            plan = new Filter(ShownRecords.of(numbered.reference(), Scala.list(scan.output()), kept, records.watch, watch), plan);
        } else if (isRestricted || isWatched) {
            plan = new Filter(new AmongRecords(numbered.reference(), isWatched ? new RecordWatch(isRestricted ? kept : null, records.watch, watch(files)) : kept), plan);
        }
        if (!excluded.isEmpty()) {
            plan = new Filter(new Not(new AmongRecords(numbered.reference(), excluded)), plan);
        }
        if (isEdited) {
            List<?> names = Arrays.asList(relation.dataSchema().fieldNames());
            plan = edits.over(plan, numbered.reference(), Scala.list(read.output()), Scala.list(scan.output()), names);
        }
        return new NumberedScan(plan, numbered.reference());
    }

    /** The number of a watched scan. The files that notes name by ordinals are listed next to the shadow. */
    private int watch(SourceFiles files) {
        int scan = ++watched;
        for (SourceFiles.Entry entry : files.entries()) {
            append(".scans", Arrays.asList(scan, entry.ordinal(), OneSpelling.of(entry.path())));
        }
        return scan;
    }

    /** Whether the format reads row by row and counts them, so that a reader can leave out some without a column of numbers. */
    private static boolean hasRows(HadoopFsRelation relation, RecordFormat format) {
        return !format.countsWholeFiles() && !relation.fileFormat().supportBatch(relation.sparkSession(), relation.schema());
    }

    private LogicalPlan selected(LogicalRelation scan, HadoopFsRelation relation, Map<String, long[]> rows, boolean keeps) {
        FileIndex files = keeps ? new ChosenFiles(relation.location(), rows.keySet()) : relation.location();
        SelectedFormat format = new SelectedFormat(relation.fileFormat(), rows, keeps, records.marks);
        return Nodes.scan(scan, Nodes.relation(relation, files, relation.partitionSchema(), relation.dataSchema(), format), scan.output());
    }

    /** The numbered scan that reads only files, row groups and rows of text with kept records, as far as its format can. */
    private static LogicalPlan restricted(LogicalPlan plan, ChosenRecords kept, Map<String, long[]> rows) {
        if (plan instanceof LogicalRelation scan && scan.relation() instanceof HadoopFsRelation relation) {
            FileFormat format = relation.fileFormat();
            if (format instanceof RankedFormat ranked) {
                format = ranked.only(kept);
            } else if (format instanceof NumberedParquet parquet) {
                format = parquet.only(WantedRows.of(rows));
            }
            ChosenFiles files = new ChosenFiles(relation.location(), rows.keySet());
            HadoopFsRelation chosen = Nodes.relation(relation, files, relation.partitionSchema(), relation.dataSchema(), format);
            return Nodes.scan(scan, chosen, scan.output());
        }
        List<LogicalPlan> children = new ArrayList<>();
        for (LogicalPlan child : Scala.<LogicalPlan>list(plan.children())) {
            children.add(restricted(child, kept, rows));
        }
        return plan.withNewChildren(Scala.seq(children));
    }

    /** Whether only some records of this scan are read. */
    private boolean isRestricted(SourceFiles files, HadoopFsRelation relation) {
        List<SourceFiles.Entry> entries = files.entries();
        int restricted = 0;
        for (SourceFiles.Entry entry : entries) {
            restricted += records.isRestricted(OneSpelling.of(entry.path())) ? 1 : 0;
        }
        if (restricted != 0 && restricted != entries.size()) {
            throw new IllegalStateException("Replay cannot keep records of one dataset in a scan that reads another, too: " + relation.location().rootPaths());
        }
        return restricted != 0;
    }

    /**
     * Note each file whose records were excluded, kept or edited, as a line of JSON in a file next to the shadow. The
     * command that started the replay checks that no file is missing.
     */
    private synchronized void note(String file) {
        if (noted.add(file)) {
            append(".met", file);
        }
    }

    /** Note the options of written CSV, because its files do not show where a header or a separator is. */
    private synchronized void noteForm(String path, InsertIntoHadoopFsRelationCommand insert) {
        if (!(insert.fileFormat() instanceof CSVFileFormat)) {
            return;
        }
        Map<String, String> form = new TreeMap<>();
        for (Map.Entry<String, String> option : Scala.map(insert.options()).entrySet()) {
            String name = option.getKey().toLowerCase(Locale.ROOT);
            if (FORM.contains(name)) { // other options may hold secrets
                form.put(name, option.getValue());
            }
        }
        form.putIfAbsent("header", "false");
        List<Object> line = Arrays.asList(path, form);
        if (noted.add(line)) {
            append(".written", line);
        }
    }

    private void append(String suffix, Object value) {
        try {
            byte[] line = (new ObjectMapper().writeValueAsString(value) + "\n").getBytes(StandardCharsets.UTF_8);
            Files.write(Paths.get(shadow + suffix), line, new OpenOption[] {StandardOpenOption.CREATE, StandardOpenOption.APPEND});
        } catch (IOException unwritable) {
            throw new IllegalStateException("Replay cannot write next to its shadow folder: " + unwritable, unwritable);
        }
    }

    /**
     * Lines of JSON next to the shadow: [dataset, number of its files, files whose rows were not read], and [dataset]
     * where all rows were read.
     */
    private final class PartialNotes implements PartialResults.Notes {
        public void add(String dataset, int files, int reused) {
            write(Arrays.asList(dataset, Integer.valueOf(files), Integer.valueOf(reused)));
        }

        public void addWhole(String dataset) {
            write(Arrays.asList(dataset));
        }

        private void write(List<?> line) {
            synchronized (ReplayRule.this) {
                if (noted.add(line)) {
                    append(".partials", line);
                }
            }
        }
    }

    private boolean collect(int ordinal, String file, Map<String, long[]> rowsOfFiles, ChosenRecords references) {
        long[] rows = rowsOfFiles.get(file);
        if (rows == null) {
            return false;
        }
        note(file);
        references.add(ordinal, rows);
        return true;
    }

    private static long reference(int ordinal, long row) {
        return ((long) ordinal << 40) | row;
    }
}
