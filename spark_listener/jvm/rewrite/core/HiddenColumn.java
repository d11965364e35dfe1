package headwater.rewrite.core;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;

/**
 * A hidden column: its attribute, and its operator in the original plan. Its role is `ref` for references to the
 * operator's records. Its role is `branch` for the projection of an Expand that made the row, and for an existence
 * join, where it states whether the row needs no match.
 */
public final class HiddenColumn {
    public static final String PREFIX = "_headwater_"; // of the names of hidden columns
    public static final String REF = "ref";
    public static final String BRANCH = "branch";

    public final Attribute attribute;
    public final int operator;
    public final String role;

    public HiddenColumn(Attribute attribute, int operator) {
        this(attribute, operator, REF);
    }

    public HiddenColumn(Attribute attribute, int operator, String role) {
        this.attribute = attribute;
        this.operator = operator;
        this.role = role;
    }

    /** A new column of a leaf: the reference of each of its rows. */
    public static HiddenColumn row(int operator) {
        Attribute column = new AttributeReference(
            PREFIX + "row", DataTypes.LongType, false, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.empty());
        return new HiddenColumn(column, operator);
    }

    /** A new column for the values of another column, where some may become null. */
    public static HiddenColumn nullable(HiddenColumn of) {
        Attribute column = new AttributeReference(
            of.attribute.name(), DataTypes.LongType, true, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.empty());
        return of.as(column);
    }

    /** This column with the attribute that a plan above outputs for it. */
    public HiddenColumn as(Attribute current) {
        return new HiddenColumn(current, operator, role);
    }
}
