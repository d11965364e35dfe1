package headwater.describe;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Capture;
import headwater.tap.Report;
import headwater.tap.SegmentSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;

/**
 * Boundaries of subplans that did not run, since Spark ran an equal subplan once and reused its shuffle: they get the rows of the boundaries
 * that ran. Rows of windows and semi-joins are named by the task that met them, so that what lies below a boundary must come from below
 * the one that it has its rows of, and not from any other that is equal.
 */
final class ReusedRows {
    private final Capture capture;
    private final List<Report> counted;
    private final List<Map<String, Object>> problems;
    private final Configuration conf;
    private final Map<Integer, List<Report>> rows = new HashMap<>(); // Integer boundary that ran -> List of Report
    private final Map<Integer, Boundary> imposed = new HashMap<>(); // Integer boundary -> Boundary that it has its rows of

    private ReusedRows(Capture capture, List<Report> counted, List<Map<String, Object>> problems, Configuration conf) {
        this.capture = capture;
        this.counted = counted;
        this.problems = problems;
        this.conf = conf;
        for (Report report : counted) {
            Integer number = report.boundary;
            if (!rows.containsKey(number)) {
                rows.put(number, new ArrayList<>());
            }
            rows.get(number).add(report);
        }
    }

    /** Adds the copies to the reports that count. */
    static void add(Capture capture, List<Report> counted, List<Map<String, Object>> problems, Configuration conf) {
        new ReusedRows(capture, counted, problems, conf).add();
    }

    private void add() {
        List<Boundary> fromAbove = new ArrayList<>(capture.boundaries);
        Collections.sort(fromAbove, new FromAbove());
        for (Boundary boundary : fromAbove) {
            if (ran(boundary) || boundary.derived != null || boundary.kind.equals(SegmentSpec.SINK) || boundary.kind.equals(SegmentSpec.KEYS)) {
                continue;
            }
            Boundary known = imposed.get(boundary.number);
            List<Boundary> others = known != null ? Collections.singletonList(known) : repeatedSides(boundary);
            for (Boundary other : others) {
                copy(other, boundary);
            }
            if (others.size() == 1) {
                impose(others.get(0), boundary);
            }
        }
    }

    /**
     * The boundaries that ran in an equal subplan. By a key any of them gives the same rows. By the task, those that no task met together: of
     * others it could not be told which one a reference means, and none is given, so that a trace says that its rows are missing.
     */
    private List<Boundary> repeatedSides(Boundary boundary) {
        List<Boundary> result = new ArrayList<>();
        Set<Long> attempts = new HashSet<>();
        for (int i = 0; i < capture.boundaries.size(); i++) {
            Boundary other = capture.boundaries.get(i);
            if (!other.kind.equals(boundary.kind) || !ran(other) || !EqualPlans.are(other.original, boundary.original)) {
                continue;
            }
            if (!SegmentSpec.isReferred(boundary.kind)) {
                return Collections.singletonList(other);
            }
            for (Report report : rows.get(other.number)) {
                if (!attempts.add(report.attempt)) {
                    return new ArrayList<>();
                }
            }
            result.add(other);
        }
        return result;
    }

    /** What the columns of the one refer to has its rows of what those of the other refer to. */
    private void impose(Boundary from, Boundary to) {
        if (from.columns.size() != to.columns.size()) {
            return;
        }
        for (int i = 0; i < to.columns.size(); i++) {
            Object there = from.columns.get(i).get("operator");
            Object here = to.columns.get(i).get("operator");
            if (there != null && here != null) {
                impose(((Number) there).intValue(), ((Number) here).intValue());
            }
        }
    }

    private void impose(int from, int to) {
        for (int i = 0; i < capture.boundaries.size(); i++) {
            Boundary source = capture.boundaries.get(i);
            for (int j = 0; source.operator == from && j < capture.boundaries.size(); j++) {
                Boundary target = capture.boundaries.get(j);
                if (target.operator == to && target != source && target.kind.equals(source.kind)) {
                    imposed.put(target.number, ran(source) ? source : imposed.get(source.number));
                }
            }
        }
    }

    private void copy(Boundary from, Boundary to) {
        List<Report> reports = rows.get(from.number);
        for (int i = 0; reports != null && i < reports.size(); i++) {
            Report report = reports.get(i);
            if (report.fault == null) {
                try {
                    counted.add(SegmentCopy.copy(report, to.number, capture, conf));
                } catch (java.io.IOException fault) {
                    problems.add(Capture.problemOf("capture", report.segmentName() + " could not be copied: " + fault, "missing"));
                }
            }
        }
    }

    private boolean ran(Boundary boundary) {
        return rows.containsKey(boundary.number);
    }

    /** Operators are numbered from above; the rows of a semi-join stand above those that it looks at. */
    private static final class FromAbove implements Comparator<Boundary> {
        public int compare(Boundary a, Boundary b) {
            if (a.operator != b.operator) {
                return a.operator < b.operator ? -1 : 1;
            }
            return (b.kind.equals(SegmentSpec.SEMI) ? 1 : 0) - (a.kind.equals(SegmentSpec.SEMI) ? 1 : 0);
        }
    }
}
