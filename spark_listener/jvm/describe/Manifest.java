package headwater.describe;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Capture;
import headwater.rewrite.delta.TableWrite;
import headwater.shim.Parts;
import headwater.shim.Untyped;
import headwater.source.SourceFiles;
import headwater.tap.Report;
import headwater.tap.SegmentSpec;
import headwater.text.ExpressionText;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** The manifest of a capture, as far as the driver's JVM knows it (docs: capture format, section 3). */
public final class Manifest {
    private static final Set<Object> WHOLE = new HashSet<>(Arrays.asList(new String[] {"superset", "influence"})); // problems of captures that lack no segment
    private static final int FORMAT = 3; // since this format, operators state their behaviour

    private Manifest() {}

    /** Never throws. If the query cannot be described, the manifest names the fault and contains no lineage. */
    public static Map<String, Object> of(Capture capture, PlanDescription description, long execution, Configuration conf) {
        try {
            return whole(capture, description, execution, conf);
        } catch (Throwable fault) {
            List<Map<String, Object>> problems = new ArrayList<>(capture.problems);
            problems.add(Capture.problemOf("capture", "what was captured could not be described: " + fault, "fault"));
            Map<String, Object> result = head(capture, description, execution);
            result.put("boundaries", new ArrayList<>());
            result.put("segments", new ArrayList<>());
            result.put("problems", problems);
            result.put("status", "refused");
            result.put("cost", cost(capture, new ArrayList<>()));
            return result;
        }
    }

    private static Map<String, Object> whole(Capture capture, PlanDescription description, long execution, Configuration conf) {
        Map<String, Object> plan = description.parts();
        List<Map<String, Object>> problems = new ArrayList<>(capture.problems);
        String fault = fault(capture, description);
        if (fault != null) {
            problems.add(Capture.problemOf("Scan", fault, "refused"));
            capture.rewritten = false; // its references are not unique, or not to one record
        }
        List<Map<String, Object>> sources = Untyped.maps(plan.get("sources"));
        for (Map<String, Object> source : sources) {
            if ("iceberg".equals(source.get("format"))) {
                IcebergText.look(source, conf);
            }
        }
        Map<String, Object> result = head(capture, description, execution);
        List<Map<String, Object>> segments = new ArrayList<>();
        List<Map<String, Object>> boundaries = new ArrayList<>();
        if (capture.rewritten) {
            List<Report> reports = capture.reports.snapshot();
            List<Report> counted = counted(capture, reports, false);
            ReusedRows.add(capture, counted, problems, conf);
            segments = segments(capture, counted, problems, Untyped.maps(plan.get("operators")));
            if (capture.original instanceof TableWrite tableWrite) {
                Map<Integer, List<Map<String, Object>>> files = tableWrite.commit.files();
                segments = AddedFiles.place(segments, files, problems);
                if (plan.get("sink") != null) {
                    AddedFiles.addNumbers(files, Untyped.map(plan.get("sink")));
                }
                MergeClauses.check(tableWrite.command, problems);
            }
            boundaries = boundaries(capture, Untyped.maps(plan.get("operators")));
            splits(capture, description, reports, Untyped.maps(plan.get("sources")), problems);
            List<Map<String, Object>> committed = CommittedFiles.of(counted, conf);
            if (committed != null && plan.get("sink") != null) {
                Untyped.map(plan.get("sink")).put("committed", committed);
            }
            if (capture.table != null && plan.get("sink") != null) {
                IcebergText.written(capture.table, Untyped.map(plan.get("sink")));
            }
            CachedCaptures.add(capture, description, plan, boundaries, segments, problems, conf);
        }
        result.put("boundaries", boundaries);
        result.put("segments", segments);
        result.put("problems", problems);
        result.put("status", !capture.rewritten ? "refused" : whole(problems) ? "complete" : "partial");
        result.put("cost", cost(capture, segments));
        return result;
    }

    /** A problem with the numbers of files. Null if there is none. */
    private static String fault(Capture capture, PlanDescription description) {
        List<SourceFiles> sources = new ArrayList<>(capture.sources);
        for (CachedPlans.Place place : description.caches()) {
            Capture cached = place.capture;
            sources.addAll(cached == null ? new ArrayList<>() : cached.sources);
        }
        for (SourceFiles files : sources) {
            if (files.overflow()) {
                return "the files have more splits than there are ordinals";
            }
            if (files.ambiguous()) {
                return "a file is in several partitions of the table, which have one location";
            }
        }
        return null;
    }

    private static Map<String, Object> head(Capture capture, PlanDescription description, long execution) {
        Map<String, Object> plan = description.parts();
        return Parts.of(
            "format", FORMAT, "capture", capture.id, "execution", execution, "sources", plan.get("sources"),
            "operators", plan.get("operators"), "sink", plan.get("sink"));
    }

    /**
     * The reports that count. For the sink, groups and matches, the last attempt of each partition counts, because a
     * sort may run its input twice for a sample. References that name an attempt need the reports of all attempts. With
     * `every`, all reports count: a task may make several partitions of cached rows.
     */
    static List<Report> counted(Capture capture, List<Report> reports, boolean every) {
        Map<String, Report> counted = new LinkedHashMap<>();
        for (Report report : reports) {
            if (report.boundary < 0) {
                continue;
            }
            boolean referred = every || SegmentSpec.countsEveryAttempt(boundary(capture, report.boundary).kind);
            String key = report.boundary + "/" + report.partition + (referred ? "/" + report.attempt : "");
            counted.remove(key);
            counted.put(key, report);
        }
        return new ArrayList<>(counted.values());
    }

    /** Whether no record is missing. An operator that gives a superset reports that, and misses nothing. */
    private static boolean whole(List<Map<String, Object>> problems) {
        for (Map<String, Object> problem : problems) {
            if (!WHOLE.contains(problem.get("kind"))) {
                return false;
            }
        }
        return true;
    }

    private static List<Map<String, Object>> segments(Capture capture, List<Report> counted, List<Map<String, Object>> problems, List<Map<String, Object>> operators) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (Report report : counted) {
            if (report.fault == null) {
                result.add(segment(report));
                continue;
            }
            Map<String, Object> operator = operators.get(boundary(capture, report.boundary).operator);
            String reason = "task " + report.attempt + " could not write " + report.segmentName() + ": " + report.fault;
            problems.add(Capture.problemOf(String.valueOf(operator.get("op")), reason, "missing"));
        }
        return result;
    }

    static Map<String, Object> segment(Report report) {
        return Parts.of(
            "name", report.segmentName(), "boundary", report.boundary, "stage", report.stage,
            "stage_attempt", report.stageAttempt, "partition", report.partition, "attempt", report.attempt,
            "rows", report.rows, "bytes", report.bytes, "sha256", report.sha256);
    }

    /** The boundaries. Each operator also gets the number of its boundary. */
    private static List<Map<String, Object>> boundaries(Capture capture, List<Map<String, Object>> operators) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (int i = 0; i < capture.boundaries.size(); i++) {
            Boundary boundary = capture.boundaries.get(i);
            result.add(described(boundary, boundary.number, boundary.operator, boundary.columns, operators));
        }
        return result;
    }

    /** A boundary, by a number of the manifest. */
    static Map<String, Object> described(Boundary boundary, int number, int operator, List<Map<String, Object>> columns, List<Map<String, Object>> operators) {
        boolean aside = boundary.kind.equals(SegmentSpec.CHECK) || boundary.kind.equals(SegmentSpec.CHOSEN) || boundary.kind.equals(SegmentSpec.KEYS);
        if (!aside) {
            operators.get(operator).put("boundary", number);
        }
        Map<String, Object> described = Parts.of(
            "boundary", number, "kind", boundary.kind, "operator", operator, "columns", columns);
        if (boundary.derived != null) {
            described.put("derived", derived(boundary));
        }
        if (boundary.takes != null) {
            described.put("takes", boundary.takes);
        }
        if (boundary.compared != null) {
            described.put("compared", new ExpressionText().of(boundary.compared));
        }
        return described;
    }

    private static Map<String, Object> derived(Boundary boundary) {
        Map<String, Object> result = new LinkedHashMap<>(boundary.derived);
        if (boundary.keys != null) {
            result.put("keys", texts(boundary.keys));
            result.put("values", texts(boundary.values));
        }
        if (boundary.left != null) {
            result.put("left", texts(boundary.left));
        }
        return result;
    }

    private static List<Map<String, Object>> texts(List<Expression> expressions) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (Expression expression : expressions) {
            result.add(new ExpressionText().of(expression));
        }
        return result;
    }

    static void splits(Capture capture, PlanDescription description, List<Report> reports, List<Map<String, Object>> sources, List<Map<String, Object>> problems) {
        Map<Object, Map<String, Object>> bySource = new HashMap<>();
        for (Map<String, Object> source : sources) {
            bySource.put(source.get("source"), source);
        }
        Set<Object> seen = new HashSet<>();
        for (Report report : reports) {
            if (report.boundary < 0 && report.fault != null) {
                Map<String, Object> problem = Capture.problemOf(report.operator == null ? "Scan" : report.operator, report.fault, "missing");
                if (seen.add(problem)) { // many tasks may say the same
                    problems.add(problem);
                }
                continue;
            }
            Map<String, Object> source = report.boundary < 0 ? bySource.get(description.source(capture, report.source)) : null;
            if (source == null || !seen.add(report.source + "/" + report.splitOrdinal)) {
                continue; // a split that several tasks read
            }
            Map<String, Object> split = Parts.of(
                "ordinal", report.splitOrdinal, "path", report.splitPath, "start", report.splitStart,
                "length", report.splitLength);
            Untyped.maps(source.get("splits")).add(split);
        }
    }

    private static Map<String, Object> cost(Capture capture, List<Map<String, Object>> segments) {
        long bytes = 0L;
        long rows = 0L;
        for (Map<String, Object> segment : segments) {
            bytes += ((Long) segment.get("bytes"));
            rows += ((Long) segment.get("rows"));
        }
        return Parts.of(
            "planning_ms", capture.planningNanos / 1000000.0, "tasks_ms", taskNanos(capture) / 1000000.0,
            "bytes", bytes, "rows", rows);
    }

    /** The processor time of the taps in all task attempts that count. */
    private static long taskNanos(Capture capture) {
        List<Report> reports = capture.reports.snapshot();
        long nanos = 0L;
        for (Report report : reports) {
            nanos += report.nanos;
        }
        return nanos;
    }

    private static Boundary boundary(Capture capture, int number) {
        return capture.boundaries.get(number);
    }
}
