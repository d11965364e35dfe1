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
 * Boundaries of subplans that did not run, because Spark ran an equal subplan once and reused its shuffle. They get the
 * rows of the boundaries that ran. A reference to a window or a semi-join names the task. So the boundaries below must
 * take their rows from below the same subplan, and not from another equal one.
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
     * The boundaries that ran in an equal subplan. For references by key, each of them has the same rows. For
     * references by task, only boundaries of different tasks are given. A trace reports the rows of the others as
     * missing, because a reference to them would be ambiguous.
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

    /** Connect what the columns of both boundaries refer to, so that one takes its rows from the other. */
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
