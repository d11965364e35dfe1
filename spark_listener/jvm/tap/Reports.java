package headwater.tap;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.util.AccumulatorV2;

/**
 * Carries reports from tasks to the driver. The class is an accumulator, because Spark merges accumulators exactly once
 * for each attempt that the scheduler counts. A failed, killed or superfluous attempt never arrives. The accumulator
 * has no name, so the UI and event logs do not show it.
 *
 * For cached rows, failed attempts count too. A partition that such a task cached before it failed stays, and is read.
 */
public final class Reports extends AccumulatorV2<Report, List<Report>> {
    public final boolean ofFailed; // whether failed attempts report, too
    private final List<Report> reports = new ArrayList<>();
    private volatile transient boolean merged; // of a task's: into the driver's

    public Reports(boolean ofFailed) {
        this.ofFailed = ofFailed;
    }

    public boolean excludeFromHeartbeat() {
        return true;
    }

    public boolean isZero() {
        synchronized (reports) {
            return reports.isEmpty();
        }
    }

    public Reports copy() {
        Reports copy = new Reports(ofFailed);
        copy.reports.addAll(snapshot());
        return copy;
    }

    public void reset() {
        synchronized (reports) {
            reports.clear();
        }
    }

    public void add(Report report) {
        synchronized (reports) {
            reports.add(report);
        }
    }

    public void merge(AccumulatorV2<Report, List<Report>> other) {
        List<Report> theirs = ((Reports) other).snapshot();
        synchronized (reports) {
            reports.addAll(theirs);
        }
        ((Reports) other).merged = true;
    }

    public boolean isMerged() {
        return merged;
    }

    public List<Report> value() {
        return snapshot();
    }

    /** The reports that have arrived, in that order. */
    public List<Report> snapshot() {
        synchronized (reports) {
            return new ArrayList<>(reports);
        }
    }
}
