package headwater.tap;

import java.io.Serializable;
import org.apache.spark.TaskContext;

/**
 * A value in a row that lineage cannot express. An expression that meets one runs this, and the driver gets a report,
 * once for each task. Never throws.
 */
public class TaskFault implements Runnable, Serializable {
    private final String operator;
    private final String fault;
    private final Reports reports;
    private transient boolean reported;

    public TaskFault(String operator, String fault, Reports reports) {
        this.operator = operator;
        this.fault = fault;
        this.reports = reports;
    }

    public void run() {
        if (reported) {
            return;
        }
        reported = true;
        Report report = new Report();
        report.boundary = -1;
        report.operator = operator;
        report.fault = fault;
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
