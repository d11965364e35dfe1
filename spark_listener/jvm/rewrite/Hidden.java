package headwater.rewrite;

import org.apache.spark.sql.catalyst.expressions.Attribute;

/**
 * A hidden column: its attribute, and the operator of the original plan that it is about. Its role is `ref`, references to the operator's
 * records, or `branch`, by which projection of the operator (an Expand) the row was made, or (an existence join) whether it needs no match.
 */
public final class Hidden {
    static final String PREFIX = "_headwater_"; // of the names of hidden columns
    public static final String REF = "ref";
    public static final String BRANCH = "branch";

    public final Attribute attribute;
    public final int operator;
    public final String role;

    public Hidden(Attribute attribute, int operator) {
        this(attribute, operator, REF);
    }

    Hidden(Attribute attribute, int operator, String role) {
        this.attribute = attribute;
        this.operator = operator;
        this.role = role;
    }

    /** The same column, as a plan above puts it out. */
    Hidden as(Attribute current) {
        return new Hidden(current, operator, role);
    }
}
