package headwater.rewrite;

import org.apache.spark.sql.catalyst.expressions.Attribute;

/** A hidden column: its attribute, and the operator of the original plan that its references refer to. */
public final class Hidden {
    public final Attribute attribute;
    public final int operator;

    public Hidden(Attribute attribute, int operator) {
        this.attribute = attribute;
        this.operator = operator;
    }
}
