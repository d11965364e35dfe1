package headwater.rewrite.core;

/** Record lineage of a query cannot be captured exactly: the operator's name, and why. The query runs as it is. */
public final class Refused extends RuntimeException {
    public final String operator;

    public Refused(String operator, String reason) {
        super(reason);
        this.operator = operator;
    }

    public Throwable fillInStackTrace() {
        return this; // it is an answer, not a fault
    }
}
