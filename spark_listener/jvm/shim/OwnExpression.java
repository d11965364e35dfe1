package headwater.shim;

import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * What our expressions have in common: never null, never folded, and equal where their class and their one element are (Spark compares
 * canonical plans, to reuse exchanges).
 */
public abstract class OwnExpression extends Expression implements java.io.Serializable {
    /** What it is made of. */
    public abstract Object productElement(int index);

    public int productArity() {
        return 1;
    }

    public boolean nullable() {
        return false;
    }

    public boolean foldable() {
        return false;
    }

    public boolean canEqual(Object other) {
        return other != null && other.getClass() == getClass();
    }

    public boolean equals(Object other) {
        return canEqual(other) && productElement(0).equals(((OwnExpression) other).productElement(0));
    }

    public int hashCode() {
        return 31 * getClass().getName().hashCode() + productElement(0).hashCode();
    }
}
