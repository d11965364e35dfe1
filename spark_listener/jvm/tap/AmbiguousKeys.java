package headwater.tap;

import java.io.Serializable;
import org.apache.spark.TaskContext;

/**
 * The two BIGINT keys that cannot be told from something else (docs: capture format, "Derived boundaries"). Whoever meets one runs this, and the
 * driver is told, once a task: the lineage of the query then says what it may lack. It never throws.
 */
public final class AmbiguousKeys implements Runnable, Serializable {
    public static final long NULL = 0x5DEECE66D1CE4E5BL; // as unlikely a key as any hash is to collide
    public static final long MIXED = 0x3C6EF37200000000L; // Long.MIN_VALUE means "none", and is a key that people use; low bits stay: neighbours compress
    public static final long NONE = Long.MIN_VALUE ^ MIXED;

    private final String operator;
    private final Reports reports;
    private transient boolean told;

    public AmbiguousKeys(String operator, Reports reports) {
        this.operator = operator;
        this.reports = reports;
    }

    static boolean has(long key) {
        return key == NULL || key == NONE;
    }

    public void run() {
        if (told) {
            return;
        }
        told = true;
        Report report = new Report();
        report.boundary = -1;
        report.operator = operator;
        report.fault = "a key is " + NULL + " or " + NONE + ", which cannot be told from null and from no record";
        TaskContext context = TaskContext.get();
        try {
            if (context == null) {
                reports.add(report); // the driver evaluated it
            } else if (!context.isCompleted()) {
                TaskTaps.of(context).tell(reports, report);
            }
        } catch (Throwable ignored) {
            // the job goes on
        }
    }
}
