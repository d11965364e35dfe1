package headwater.rewrite.core;

import headwater.shim.Differences;

/**
 * Record lineage of a query cannot be captured exactly. The exception has the name of the operator and the reason. The
 * query runs unchanged.
 */
public final class Refused extends RuntimeException {
    public final String operator;

    public Refused(String operator, String reason) {
        super(reason);
        this.operator = operator;
    }

    /** Throws where the connector was not tried on this Spark. */
    public static void untried(String operator, String connector) {
        String reason = Differences.untried(connector);
        if (reason != null) {
            throw new Refused(operator, reason);
        }
    }

    public Throwable fillInStackTrace() {
        return this; // it is an answer, not a fault
    }
}
