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
    private final List counted; // of Report
    private final List problems;
    private final Configuration conf;
    private final Map rows = new HashMap(); // Integer boundary that ran -> List of Report
    private final Map imposed = new HashMap(); // Integer boundary -> Boundary that it has its rows of

    private ReusedRows(Capture capture, List counted, List problems, Configuration conf) {
        this.capture = capture;
        this.counted = counted;
        this.problems = problems;
        this.conf = conf;
        for (int i = 0; i < counted.size(); i++) {
            Integer number = Integer.valueOf(((Report) counted.get(i)).boundary);
            if (!rows.containsKey(number)) {
                rows.put(number, new ArrayList());
            }
            ((List) rows.get(number)).add(counted.get(i));
        }
    }

    /** Adds the copies to the reports that count. */
    static void add(Capture capture, List counted, List problems, Configuration conf) {
        new ReusedRows(capture, counted, problems, conf).add();
    }

    private void add() {
        List fromAbove = new ArrayList(capture.boundaries);
        Collections.sort(fromAbove, new FromAbove());
        for (int i = 0; i < fromAbove.size(); i++) {
            Boundary boundary = (Boundary) fromAbove.get(i);
            if (ran(boundary) || boundary.derived != null || boundary.kind.equals(SegmentSpec.SINK) || boundary.kind.equals(SegmentSpec.KEYS)) {
                continue;
            }
            Boundary known = (Boundary) imposed.get(Integer.valueOf(boundary.number));
            List others = known != null ? Collections.singletonList(known) : repeatedSides(boundary);
            for (int j = 0; j < others.size(); j++) {
                copy((Boundary) others.get(j), boundary);
            }
            if (others.size() == 1) {
                impose((Boundary) others.get(0), boundary);
            }
        }
    }

    /**
     * The boundaries that ran in an equal subplan. By a key any of them gives the same rows. By the task, those that no task met together: of
     * others it could not be told which one a reference means, and none is given, so that a trace says that its rows are missing.
     */
    private List repeatedSides(Boundary boundary) {
        List result = new ArrayList();
        Set attempts = new HashSet();
        for (int i = 0; i < capture.boundaries.size(); i++) {
            Boundary other = (Boundary) capture.boundaries.get(i);
            if (!other.kind.equals(boundary.kind) || !ran(other) || !EqualPlans.are(other.original, boundary.original)) {
                continue;
            }
            if (!SegmentSpec.isReferred(boundary.kind)) {
                return Collections.singletonList(other);
            }
            List reports = (List) rows.get(Integer.valueOf(other.number));
            for (int j = 0; j < reports.size(); j++) {
                if (!attempts.add(Long.valueOf(((Report) reports.get(j)).attempt))) {
                    return new ArrayList();
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
            Object there = ((Map) from.columns.get(i)).get("operator");
            Object here = ((Map) to.columns.get(i)).get("operator");
            if (there != null && here != null) {
                impose(((Number) there).intValue(), ((Number) here).intValue());
            }
        }
    }

    private void impose(int from, int to) {
        for (int i = 0; i < capture.boundaries.size(); i++) {
            Boundary source = (Boundary) capture.boundaries.get(i);
            for (int j = 0; source.operator == from && j < capture.boundaries.size(); j++) {
                Boundary target = (Boundary) capture.boundaries.get(j);
                if (target.operator == to && target != source && target.kind.equals(source.kind)) {
                    imposed.put(Integer.valueOf(target.number), ran(source) ? source : (Boundary) imposed.get(Integer.valueOf(source.number)));
                }
            }
        }
    }

    private void copy(Boundary from, Boundary to) {
        List reports = (List) rows.get(Integer.valueOf(from.number));
        for (int i = 0; reports != null && i < reports.size(); i++) {
            Report report = (Report) reports.get(i);
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
        return rows.containsKey(Integer.valueOf(boundary.number));
    }

    /** Operators are numbered from above; the rows of a semi-join stand above those that it looks at. */
    private static final class FromAbove implements Comparator {
        public int compare(Object one, Object other) {
            Boundary a = (Boundary) one;
            Boundary b = (Boundary) other;
            if (a.operator != b.operator) {
                return a.operator < b.operator ? -1 : 1;
            }
            return (b.kind.equals(SegmentSpec.SEMI) ? 1 : 0) - (a.kind.equals(SegmentSpec.SEMI) ? 1 : 0);
        }
    }
}
