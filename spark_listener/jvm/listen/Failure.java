package headwater.listen;

import headwater.shim.Parts;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.Map;
import org.apache.spark.SparkException;

/** Why a query or a job ended before its end: a fault of it, or somebody who ended it. */
final class Failure {
    private static final int CAUSES = 20;

    private Failure() {}

    /** `failure` may be null, where only its message is known. */
    static Map<String, Object> describe(Throwable failure, String message) {
        return Parts.of(
            "class", failure == null ? null : failure.getClass().getName(),
            "message", failure == null ? message : String.valueOf(failure.getMessage()),
            "cancelled", cancelled(failure));
    }

    /** Whether somebody ended it (its job group, its stream, its thread), as opposed to a fault of it. */
    private static boolean cancelled(Throwable failure) {
        Throwable cause = failure;
        for (int depth = 0; cause != null && depth < CAUSES; depth++) {
            boolean interrupted =
                cause instanceof InterruptedException || cause instanceof InterruptedIOException || cause instanceof ClosedByInterruptException;
            String message = cause instanceof SparkException ? String.valueOf(cause.getMessage()) : "";
            if (interrupted || message.startsWith("[SPARK_JOB_CANCELLED]")) {
                return true;
            }
            cause = cause.getCause();
        }
        return false;
    }
}
