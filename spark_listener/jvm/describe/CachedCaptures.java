package headwater.describe;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Capture;
import headwater.rewrite.kept.Materialized;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import headwater.tap.Report;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Tail;

/**
 * The boundaries and segment copies of caches and checkpoints, for the manifest of a query that reads their rows. Tasks
 * of any query may have made the rows, even tasks of this query.
 */
final class CachedCaptures {
    private CachedCaptures() {}

    static void add(
        Capture capture, PlanDescription description, Map<String, Object> plan, List<Map<String, Object>> boundaries, List<Map<String, Object>> segments, List<Map<String, Object>> problems, Configuration conf) {
        Set<Capture> described = new HashSet<>();
        int next = capture.boundaries.size();
        for (CachedPlans.Place place : description.caches()) {
            if (place.capture == null) {
                continue;
            }
            List<Report> reports = place.capture.reports.snapshot();
            List<Report> counted = Manifest.counted(place.capture, reports, true);
            ReusedRows.add(place.capture, counted, problems, conf);
            if (described.add(place.capture)) {
                problems.addAll(place.capture.problems);
                Manifest.splits(place.capture, description, reports, Untyped.maps(plan.get("sources")), problems);
                repeated(place.capture, counted, 0, Materialized.name(place.relation), problems);
            }
            for (int j = 0; j < place.capture.boundaries.size(); j++) {
                Boundary boundary = place.capture.boundaries.get(j);
                List<Map<String, Object>> columns = CachedPlans.columns(boundary.columns, place);
                int operator = place.number(boundary.operator);
                boundaries.add(Manifest.described(boundary, next + j, operator, columns, Untyped.maps(plan.get("operators"))));
                copy(place, counted, boundary.number, next + j, columns, capture, segments, problems, conf);
            }
            next += place.capture.boundaries.size();
        }
    }

    private static void copy(
        CachedPlans.Place from, List<Report> counted, int boundary, int number, List<Map<String, Object>> columns, Capture to, List<Map<String, Object>> segments, List<Map<String, Object>> problems, Configuration conf) {
        for (Report report : counted) {
            if (report.boundary != boundary) {
                continue;
            }
            String fault = report.fault;
            if (fault == null) {
                try {
                    segments.add(Manifest.segment(SegmentCopy.copy(report, from.capture, number, columns, to, conf)));
                } catch (IOException lost) {
                    fault = String.valueOf(lost);
                }
            }
            if (fault != null) {
                problems.add(Capture.problemOf(
                    Materialized.name(from.relation), report.segmentName() + " of the rows that it reads is not there: " + fault, "missing"));
            }
        }
    }

    /**
     * Report rows that a second run may have made differently. The groups of both runs are listed then, for boundaries
     * after `rows`.
     */
    static void repeated(Capture capture, List<Report> counted, int rows, String reader, List<Map<String, Object>> problems) {
        if (counted.isEmpty() || !mayDiffer(capture.original)) {
            return;
        }
        Set<String> seen = new HashSet<>();
        for (Report report : counted) {
            if (report.boundary > rows && !seen.add(report.boundary + "/" + report.partition)) {
                String reason = "a part of the rows that it reads was made twice, and may have been made otherwise: the groups of both times are given";
                problems.add(Capture.problemOf(reader, reason, "superset"));
                return;
            }
        }
    }

    /**
     * Whether a second run may give other rows: for plans that are not deterministic, and for a limit, which takes the
     * first rows to arrive.
     */
    private static boolean mayDiffer(LogicalPlan plan) {
        if (!plan.deterministic() || plan instanceof GlobalLimit || plan instanceof LocalLimit || plan instanceof Tail || plan instanceof Offset) {
            return true;
        }
        for (LogicalPlan child : Scala.list(plan.children())) {
            if (mayDiffer(child)) {
                return true;
            }
        }
        return false;
    }
}
