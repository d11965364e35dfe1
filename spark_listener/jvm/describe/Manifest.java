package headwater.describe;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Capture;
import headwater.rewrite.delta.TableWrite;
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
    private static final Set WHOLE = new HashSet(Arrays.asList(new String[] {"superset", "influence"})); // problems of captures that lack no segment
    private static final int FORMAT = 3; // of which operators state their behaviour

    private Manifest() {}

    /** Never throws: what cannot be told of a query is a fault that its manifest names, and gives no lineage. */
    public static Map of(Capture capture, PlanDescription description, long execution, Configuration conf) {
        try {
            return whole(capture, description, execution, conf);
        } catch (Throwable fault) {
            List problems = new ArrayList(capture.problems);
            problems.add(Capture.problemOf("capture", "what was captured could not be described: " + fault, "fault"));
            Map result = head(capture, description, execution);
            result.put("boundaries", new ArrayList());
            result.put("segments", new ArrayList());
            result.put("problems", problems);
            result.put("status", "refused");
            result.put("cost", cost(capture, new ArrayList()));
            return result;
        }
    }

    private static Map whole(Capture capture, PlanDescription description, long execution, Configuration conf) {
        Map plan = description.parts();
        List problems = new ArrayList(capture.problems);
        String fault = fault(capture, description);
        if (fault != null) {
            problems.add(Capture.problemOf("Scan", fault, "refused"));
            capture.rewritten = false; // its references are not unique, or not to one record
        }
        List sources = (List) plan.get("sources");
        for (int i = 0; i < sources.size(); i++) {
            if ("iceberg".equals(((Map) sources.get(i)).get("format"))) {
                IcebergText.look((Map) sources.get(i), conf);
            }
        }
        Map result = head(capture, description, execution);
        List segments = new ArrayList();
        List boundaries = new ArrayList();
        if (capture.rewritten) {
            List reports = capture.reports.snapshot();
            List counted = counted(capture, reports, false);
            ReusedRows.add(capture, counted, problems, conf);
            segments = segments(capture, counted, problems, (List) plan.get("operators"));
            if (capture.original instanceof TableWrite) {
                Map files = ((TableWrite) capture.original).commit.files();
                segments = AddedFiles.place(segments, files, problems);
                if (plan.get("sink") != null) {
                    AddedFiles.addNumbers(files, (Map) plan.get("sink"));
                }
                MergeClauses.check(((TableWrite) capture.original).command, problems);
            }
            boundaries = boundaries(capture, (List) plan.get("operators"));
            splits(capture, description, reports, (List) plan.get("sources"), problems);
            List committed = CommittedFiles.of(counted, conf);
            if (committed != null && plan.get("sink") != null) {
                ((Map) plan.get("sink")).put("committed", committed);
            }
            if (capture.table != null && plan.get("sink") != null) {
                IcebergText.written(capture.table, (Map) plan.get("sink"));
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

    /** What is wrong with the numbers of files; null where nothing is. */
    private static String fault(Capture capture, PlanDescription description) {
        List sources = new ArrayList(capture.sources);
        List caches = description.caches();
        for (int i = 0; i < caches.size(); i++) {
            Capture cached = ((CachedPlans.Place) caches.get(i)).capture;
            sources.addAll(cached == null ? new ArrayList() : cached.sources);
        }
        for (int i = 0; i < sources.size(); i++) {
            SourceFiles files = (SourceFiles) sources.get(i);
            if (files.overflow()) {
                return "the files have more splits than there are ordinals";
            }
            if (files.ambiguous()) {
                return "a file is in several partitions of the table, which have one location";
            }
        }
        return null;
    }

    private static Map head(Capture capture, PlanDescription description, long execution) {
        Map plan = description.parts();
        Map result = new LinkedHashMap();
        result.put("format", Integer.valueOf(FORMAT));
        result.put("capture", capture.id);
        result.put("execution", Long.valueOf(execution));
        result.put("sources", plan.get("sources"));
        result.put("operators", plan.get("operators"));
        result.put("sink", plan.get("sink"));
        return result;
    }

    /**
     * The reports that count: of the sink, of groups and of matches the last attempt that the driver counted for each partition (a sort may
     * have run its input twice, to sample it); of what references name the attempt of, all; `every`: all of all, of what is cached, a task
     * of which may make several partitions.
     */
    static List counted(Capture capture, List reports, boolean every) {
        Map counted = new LinkedHashMap();
        for (int i = 0; i < reports.size(); i++) {
            Report report = (Report) reports.get(i);
            if (report.boundary < 0) {
                continue;
            }
            boolean referred = every || SegmentSpec.countsEveryAttempt(boundary(capture, report.boundary).kind);
            String key = report.boundary + "/" + report.partition + (referred ? "/" + report.attempt : "");
            counted.remove(key);
            counted.put(key, report);
        }
        return new ArrayList(counted.values());
    }

    /** Whether nothing is missing that ran: an operator that gives a superset says so, and gives all. */
    private static boolean whole(List problems) {
        for (int i = 0; i < problems.size(); i++) {
            if (!WHOLE.contains(((Map) problems.get(i)).get("kind"))) {
                return false;
            }
        }
        return true;
    }

    private static List segments(Capture capture, List counted, List problems, List operators) {
        List result = new ArrayList();
        for (int i = 0; i < counted.size(); i++) {
            Report report = (Report) counted.get(i);
            if (report.fault == null) {
                result.add(segment(report));
                continue;
            }
            Map operator = (Map) operators.get(boundary(capture, report.boundary).operator);
            String reason = "task " + report.attempt + " could not write " + report.segmentName() + ": " + report.fault;
            problems.add(Capture.problemOf(String.valueOf(operator.get("op")), reason, "missing"));
        }
        return result;
    }

    static Map segment(Report report) {
        Map result = new LinkedHashMap();
        result.put("name", report.segmentName());
        result.put("boundary", Integer.valueOf(report.boundary));
        result.put("stage", Integer.valueOf(report.stage));
        result.put("stage_attempt", Integer.valueOf(report.stageAttempt));
        result.put("partition", Integer.valueOf(report.partition));
        result.put("attempt", Long.valueOf(report.attempt));
        result.put("rows", Long.valueOf(report.rows));
        result.put("bytes", Long.valueOf(report.bytes));
        result.put("sha256", report.sha256);
        return result;
    }

    /** The boundaries, told to their operators too. */
    private static List boundaries(Capture capture, List operators) {
        List result = new ArrayList();
        for (int i = 0; i < capture.boundaries.size(); i++) {
            Boundary boundary = (Boundary) capture.boundaries.get(i);
            result.add(described(boundary, boundary.number, boundary.operator, boundary.columns, operators));
        }
        return result;
    }

    /** A boundary, by a number of the manifest. */
    static Map described(Boundary boundary, int number, int operator, List columns, List operators) {
        boolean aside = boundary.kind.equals(SegmentSpec.CHECK) || boundary.kind.equals(SegmentSpec.CHOSEN) || boundary.kind.equals(SegmentSpec.KEYS);
        if (!aside) {
            ((Map) operators.get(operator)).put("boundary", Integer.valueOf(number));
        }
        Map described = new LinkedHashMap();
        described.put("boundary", Integer.valueOf(number));
        described.put("kind", boundary.kind);
        described.put("operator", Integer.valueOf(operator));
        described.put("columns", columns);
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

    private static Map derived(Boundary boundary) {
        Map result = new LinkedHashMap(boundary.derived);
        if (boundary.keys != null) {
            result.put("keys", texts(boundary.keys));
            result.put("values", texts(boundary.values));
        }
        if (boundary.left != null) {
            result.put("left", texts(boundary.left));
        }
        return result;
    }

    private static List texts(List expressions) {
        List result = new ArrayList();
        for (int i = 0; i < expressions.size(); i++) {
            result.add(new ExpressionText().of((Expression) expressions.get(i)));
        }
        return result;
    }

    static void splits(Capture capture, PlanDescription description, List reports, List sources, List problems) {
        Map bySource = new HashMap();
        for (int i = 0; i < sources.size(); i++) {
            bySource.put(((Map) sources.get(i)).get("source"), sources.get(i));
        }
        Set seen = new HashSet();
        for (int i = 0; i < reports.size(); i++) {
            Report report = (Report) reports.get(i);
            if (report.boundary < 0 && report.fault != null) {
                Map problem = Capture.problemOf(report.operator == null ? "Scan" : report.operator, report.fault, "missing");
                if (seen.add(problem)) { // many tasks may say the same
                    problems.add(problem);
                }
                continue;
            }
            Map source = report.boundary < 0 ? (Map) bySource.get(Integer.valueOf(description.source(capture, report.source))) : null;
            if (source == null || !seen.add(report.source + "/" + report.splitOrdinal)) {
                continue; // a split that several tasks read
            }
            Map split = new LinkedHashMap();
            split.put("ordinal", Integer.valueOf(report.splitOrdinal));
            split.put("path", report.splitPath);
            split.put("start", Long.valueOf(report.splitStart));
            split.put("length", Long.valueOf(report.splitLength));
            ((List) source.get("splits")).add(split);
        }
    }

    private static Map cost(Capture capture, List segments) {
        long bytes = 0L;
        long rows = 0L;
        for (int i = 0; i < segments.size(); i++) {
            bytes += ((Long) ((Map) segments.get(i)).get("bytes")).longValue();
            rows += ((Long) ((Map) segments.get(i)).get("rows")).longValue();
        }
        Map result = new LinkedHashMap();
        result.put("planning_ms", Double.valueOf(capture.planningNanos / 1000000.0));
        result.put("tasks_ms", Double.valueOf(taskNanos(capture) / 1000000.0));
        result.put("bytes", Long.valueOf(bytes));
        result.put("rows", Long.valueOf(rows));
        return result;
    }

    /** What the taps of every task attempt took that was counted, of any boundary. */
    private static long taskNanos(Capture capture) {
        List reports = capture.reports.snapshot();
        long nanos = 0L;
        for (int i = 0; i < reports.size(); i++) {
            nanos += ((Report) reports.get(i)).nanos;
        }
        return nanos;
    }

    private static Boundary boundary(Capture capture, int number) {
        return (Boundary) capture.boundaries.get(number);
    }
}
