package headwater.rewrite.core;

import com.fasterxml.jackson.databind.ObjectMapper;
import headwater.rewrite.kept.Checkpoints;
import headwater.rewrite.kept.Materialized;
import headwater.rewrite.recomputed.RepeatedSides;
import headwater.rewrite.recomputed.TraceBudget;
import headwater.rewrite.scans.Listings;
import headwater.rewrite.scans.formats.SessionOptions;
import headwater.rewrite.scans.keyed.TableLook;
import headwater.shim.Parts;
import headwater.source.LocalRows;
import headwater.source.MemoryRelation;
import headwater.source.NumberedRows;
import headwater.source.SourceFiles;
import headwater.tap.Reports;
import headwater.tap.SegmentSpec;
import headwater.tap.TapSink;
import headwater.write.iceberg.TableCommit;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.internal.SQLConf;

/** The capture of one query, on the driver: what the rewriter decided, and what the tasks report. */
public final class Capture implements SessionOptions {
    private static final ObjectMapper JSON = new ObjectMapper(); // making one takes longer than what is written with it
    private static final int MOST_BELOW = 64;

    public final String id = UUID.randomUUID().toString();
    public LogicalPlan original; // optimised, without taps
    public final List<Boundary> boundaries = new ArrayList<>();
    public final List<SourceFiles> sources = new ArrayList<>(); // by number
    public final List<Map<String, Object>> problems = new ArrayList<>();
    public final Reports reports;
    public boolean rewritten;
    public boolean inParts; // one table is rewritten by several queries: what they read is one source
    public long planningNanos;
    public long execution = -1L; // of Spark SQL
    public TableCommit table; // an Iceberg table that is written; null: none is
    private final String timeZone = SQLConf.get().sessionLocalTimeZone();
    private final String corruptColumn = SQLConf.get().columnNameOfCorruptRecord();
    private final String parquetNames = namesInParquet();
    public final String folder; // of its segments
    public final FamilyList families;
    public final TraceBudget derived; // what traces find again
    private LogicalPlan written; // null: that of the execution is
    private int below; // plans that made the rows of caches and checkpoints that are read, once for each place
    private final Map<LogicalPlan, MemoryRelation> inMemory = new IdentityHashMap<>(); // leaf of the plan -> MemoryRelation
    private final Map<LogicalPlan, Map<String, Object>> keyed = new IdentityHashMap<>(); // leaf of the plan -> Map, what the manifest says of its source
    public final Map<Object, TableLook> tables = new IdentityHashMap<>(); // options of a connector -> what its service said before the query ran
    public final Map<Object, Object> topics = new IdentityHashMap<>(); // a relation of Kafka -> its TopicLook, or a text: why it has none
    private final Map<RDD<InternalRow>, RDD<InternalRow>> numbered = new IdentityHashMap<>();
    public final Set<ExprId> limitsForEachRow = new HashSet<>(); // columns of windows that are such a LIMIT, and pass rows of their input
    public final Map<LogicalPlan, Boolean> passing = new IdentityHashMap<>(); // WindowGroupLimit -> Boolean: those below them
    private LocalRows localRows;
    private RepeatedSides repeatedSides;
    private final Map<List<Object>, SourceFiles> shared = new LinkedHashMap<>(); // List {index, format, options} -> SourceFiles

    public String timeZone() {
        return timeZone;
    }

    public String corruptColumn() {
        return corruptColumn;
    }

    public String parquetNames() {
        return parquetNames;
    }

    public Capture(LogicalPlan original, Captures all, FamilyList families) {
        this(original, all, families, null, false);
    }

    /** `kept`: of rows that are cached or checkpointed, for whichever queries read them. `written`: null where it is not known. */
    Capture(LogicalPlan original, Captures all, FamilyList families, LogicalPlan written, boolean kept) {
        this.reports = new Reports(kept);
        this.original = original;
        this.written = written;
        this.families = families;
        double budget = all.budget();
        String segments = all.segments();
        this.derived = new TraceBudget(budget > 0.0 && Listings.differ(original) ? 0.0 : budget);
        this.folder = segments.endsWith("/") ? segments + id : segments + "/" + id;
    }

    private static String namesInParquet() {
        SQLConf conf = SQLConf.get();
        String cased = conf.caseSensitiveAnalysis() ? "case" : null;
        return !conf.parquetFieldIdReadEnabled() ? cased : cased == null ? "id" : "id case";
    }

    /** The sides of joins that occur in the query more than once. */
    public RepeatedSides repeatedSides() {
        if (repeatedSides == null) {
            repeatedSides = new RepeatedSides(this);
        }
        return repeatedSides;
    }

    /** To be called before a plan with taps runs. */
    public void register(SparkContext context) {
        reports.register(context, headwater.shim.Scala.none(), reports.ofFailed);
    }

    public void problem(String operator, String reason, String kind) {
        problems.add(problemOf(operator, reason, kind));
    }

    public static Map<String, Object> problemOf(String operator, String reason, String kind) {
        return Parts.of("operator", operator, "reason", reason, "kind", kind);
    }

    public Boundary boundary(String kind, int operator, LogicalPlan original) {
        Boundary boundary = new Boundary(boundaries.size(), kind, operator, original);
        boundaries.add(boundary);
        return boundary;
    }

    /** A boundary that another query of the capture writes, too: the same, with columns that are to be stated again. */
    public Boundary again(int number) {
        Boundary first = boundaries.get(number);
        return new Boundary(number, first.kind, first.operator, first.original);
    }

    /** Where the rows of a boundary go. Its columns must be complete. */
    public TapSink sink(Boundary boundary) {
        try {
            String columns = JSON.writeValueAsString(boundary.columns);
            return new TapSink(new SegmentSpec(
                id, folder, boundary.number, boundary.kind, boundary.columns.size(), columns, boundary.placed,
                boundary.firstPartition, reports, this));
        } catch (java.io.IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** The files of a relation; the same for every scan that reads an equal index in the same way. `unit` as in SourceFiles. */
    public SourceFiles source(HadoopFsRelation relation, long unit) {
        return source(key(relation), unit);
    }

    /** The files of another kind of source. Two sources are the same if their keys are equal. */
    public SourceFiles source(List<Object> key, long unit) {
        SourceFiles files = shared.get(key);
        if (files == null) {
            files = inParts && !sources.isEmpty() ? sources.get(0) : new SourceFiles(sources.size(), unit);
            if (files.number == sources.size()) {
                sources.add(files);
            }
            shared.put(key, files);
        }
        return files;
    }

    /** The local relations of the query as written. */
    public LocalRows localRows() {
        if (localRows == null) {
            localRows = new LocalRows(written());
        }
        return localRows;
    }

    /** The query before the optimizer. */
    public LogicalPlan written() {
        LogicalPlan known = writtenIfKnown();
        if (known == null) {
            throw new Refused(original.nodeName(), "the query as it was written is not known");
        }
        return known;
    }

    /** Null where only the optimised plan is known: of what is cached. */
    public LogicalPlan writtenIfKnown() {
        if (written != null) {
            return written;
        }
        QueryExecution query = execution < 0L ? null : SQLExecution.getQueryExecution(execution);
        return query == null ? null : query.analyzed();
    }

    /** Counts what made the rows that a leaf reads. A loop whose every round reads the one before has more and more below it. */
    public void reads(LogicalPlan leaf, Capture made) {
        below += 1 + made.below;
        if (below > MOST_BELOW) {
            throw new Refused(Materialized.name(leaf), "its rows were made of more than " + MOST_BELOW + " other caches and checkpoints");
        }
    }

    /** Keeps of its plans what is looked at, and lets go of the rows of checkpoints. Nothing is rewritten after this. */
    void release() {
        IdentityHashMap<Object, Object> renewed = new IdentityHashMap<>();
        original = Checkpoints.withoutRows(original, renewed);
        written = written == null ? null : Checkpoints.withoutRows(written, renewed);
        for (Boundary boundary : boundaries) {
            boundary.original = Checkpoints.withoutRows(boundary.original, renewed);
        }
        numbered.clear();
        tables.clear();
        topics.clear();
        passing.clear();
        derived.clear();
        repeatedSides = null;
    }

    /** A leaf whose rows are the program's own; `key` is the same for leaves of the same rows. */
    public void inMemory(LogicalPlan leaf, Object key, int partitions) {
        java.util.Iterator<MemoryRelation> known = inMemory.values().iterator();
        int number = 0;
        while (known.hasNext()) {
            MemoryRelation other = known.next();
            if (other.key.equals(key)) {
                inMemory.put(leaf, other);
                return;
            }
            number = Math.max(number, other.number + 1);
        }
        inMemory.put(leaf, new MemoryRelation(key, number, "local:" + id + "/" + number, partitions));
    }

    /** A leaf whose records are known by values of their own, with what the manifest says of its source. */
    public void keyed(LogicalPlan leaf, Map<String, Object> described) {
        keyed.put(leaf, described);
    }

    /** Null: the leaf has no such records, or nobody asked for them. */
    public Map<String, Object> keyed(LogicalPlan leaf) {
        return keyed.get(leaf);
    }

    /** The RDD with a column of references; one for all places of a plan, or Spark could not run equal parts once. */
    public RDD<InternalRow> numbered(RDD<InternalRow> rows) {
        RDD<InternalRow> known = numbered.get(rows);
        if (known == null) {
            known = NumberedRows.of(rows);
            numbered.put(rows, known);
        }
        return known;
    }

    /** Null if the leaf does not contain the program's own rows, or if its records are not needed. */
    public MemoryRelation inMemory(LogicalPlan leaf) {
        return inMemory.get(leaf);
    }

    /** The number of a relation's source, or -1 if this query's capture does not know it. */
    public int sourceNumber(HadoopFsRelation relation) {
        return sourceNumber(key(relation));
    }

    public int sourceNumber(List<Object> key) {
        SourceFiles files = shared.get(key);
        return files == null ? -1 : files.number;
    }

    private static List<Object> key(HadoopFsRelation relation) {
        List<Object> key = new ArrayList<>();
        key.add(relation.location());
        key.add(relation.fileFormat().getClass());
        key.add(relation.options());
        return key;
    }
}
