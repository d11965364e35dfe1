package headwater.describe;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Capture;
import headwater.rewrite.kept.FrameHandover;
import headwater.rewrite.kept.RecordedRows;
import headwater.shim.Untyped;
import headwater.tap.Report;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;

/**
 * The records of a frame that became an RDD, for the manifest of the capture that the RDD's records went into.
 * Operators, sources and boundaries are numbered from `base` on. The segments are copied into the folder of that
 * capture.
 */
public final class HandedParts {
    private final FrameHandover handed;
    private final int base;
    private final String id; // of the capture that they become a part of
    private final String folder;
    private final Configuration conf;
    private final List<Map<String, Object>> problems;
    private final List<Map<String, Object>> segments = new ArrayList<>();
    private final List<Map<String, Object>> boundaries = new ArrayList<>();

    private HandedParts(FrameHandover handed, int base, String id, Configuration conf) {
        this.handed = handed;
        this.base = base;
        this.id = id;
        this.conf = conf;
        String own = handed.capture().folder;
        this.folder = own.substring(0, own.lastIndexOf('/') + 1) + id;
        this.problems = new ArrayList<>(handed.capture().problems);
    }

    public static Map<String, List<Map<String, Object>>> of(FrameHandover handed, int base, String capture, Configuration conf) {
        return new HandedParts(handed, base, capture, conf).parts();
    }

    private Map<String, List<Map<String, Object>>> parts() {
        Capture capture = handed.capture();
        PlanDescription description = PlanDescription.of(capture.original, capture);
        Map<String, Object> plan = description.parts();
        List<Map<String, Object>> operators = Untyped.maps(plan.get("operators"));
        add(capture, null, 0, description, plan);
        int next = capture.boundaries.size();
        for (CachedPlans.Place place : description.caches()) {
            if (place.capture != null) {
                add(place.capture, place, next, description, plan);
                next += place.capture.boundaries.size();
            }
        }
        for (Map<String, Object> operator : operators) {
            renumber(operator);
        }
        List<Map<String, Object>> sources = Untyped.maps(plan.get("sources"));
        for (Map<String, Object> source : sources) {
            source.put("source", shifted(source.get("source")));
        }
        Map<String, List<Map<String, Object>>> result = new LinkedHashMap<>();
        result.put("operators", operators);
        result.put("sources", sources);
        result.put("boundaries", boundaries);
        result.put("segments", segments);
        result.put("problems", problems);
        return result;
    }

    /** Add the records of the frame's own plan, or of a plan whose cached rows the frame reads (`place`). */
    private void add(Capture capture, CachedPlans.Place place, int first, PlanDescription description, Map<String, Object> plan) {
        List<Report> reports = capture.reports.snapshot();
        List<Report> counted = Manifest.counted(capture, reports, true);
        ReusedRows.add(capture, counted, problems, conf);
        if (place != null) {
            problems.addAll(capture.problems);
        }
        Manifest.splits(capture, description, reports, Untyped.maps(plan.get("sources")), problems);
        CachedCaptures.repeated(capture, counted, place == null ? -1 : 0, "RDD", problems);
        for (int i = 0; i < capture.boundaries.size(); i++) {
            Boundary boundary = capture.boundaries.get(i);
            List<Map<String, Object>> columns = columns(boundary.columns, place);
            int operator = place == null ? FrameHandover.number(boundary.operator) : place.number(boundary.operator);
            Map<String, Object> described = Manifest.described(boundary, base + first + i, operator, columns, Untyped.maps(plan.get("operators")));
            described.put("operator", shifted(described.get("operator")));
            boundaries.add(described);
            copy(capture, counted, boundary.number, base + first + i, columns);
        }
    }

    private void copy(Capture capture, List<Report> counted, int boundary, int number, List<Map<String, Object>> columns) {
        for (Report report : counted) {
            if (report.boundary != boundary) {
                continue;
            }
            String fault = report.fault;
            if (fault == null) {
                try {
                    segments.add(Manifest.segment(SegmentCopy.copy(report, capture, number, columns, id, folder, conf)));
                } catch (IOException lost) {
                    fault = String.valueOf(lost);
                }
            }
            if (fault != null) {
                problems.add(Capture.problemOf("RDD", report.segmentName() + " of the frame that it was made of is not there: " + fault, "missing"));
            }
        }
    }

    private List<Map<String, Object>> columns(List<Map<String, Object>> columns, CachedPlans.Place place) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (Map<String, Object> original : columns) {
            Map<String, Object> column = new LinkedHashMap<>(original);
            if (column.containsKey("operator")) {
                int operator = ((Number) column.get("operator")).intValue();
                column.put("operator", shifted(place == null ? FrameHandover.number(operator) : place.number(operator)));
            }
            result.add(column);
        }
        return result;
    }

    private void renumber(Map<String, Object> operator) {
        operator.put("id", shifted(operator.get("id")));
        operator.put("children", all((List<?>) operator.get("children")));
        if (operator.containsKey("subqueries")) {
            operator.put("subqueries", all((List<?>) operator.get("subqueries")));
        }
        if (operator.get("source") != null) {
            operator.put("source", shifted(operator.get("source")));
        }
    }

    private List<Integer> all(List<?> numbers) {
        List<Integer> result = new ArrayList<>();
        for (int i = 0; numbers != null && i < numbers.size(); i++) {
            result.add(shifted(numbers.get(i)));
        }
        return result;
    }

    private Integer shifted(Object number) {
        int value = ((Number) number).intValue();
        return RecordedRows.isRecorded(value) ? value : base + value;
    }
}
