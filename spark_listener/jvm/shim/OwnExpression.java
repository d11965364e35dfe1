package headwater.shim;

import org.apache.spark.sql.catalyst.expressions.Expression;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * What our expressions have in common: never null, never folded, and equal where their class and their one element are (Spark compares
 * canonical plans, to reuse exchanges).
 */
public abstract class OwnExpression extends Expression implements java.io.Serializable {
    /** What it is made of. */
    public abstract Object productElement(int index);

    /** The same expression with other children. */
    public abstract Expression withChildren(Seq<Expression> children);

    /** Spark gives this method a signature that javac rejects, so it is compiled against the method without the signature. */
    @SuppressWarnings({"rawtypes", "unchecked"})
    public final Expression withNewChildrenInternal(IndexedSeq children) {
        return withChildren(children);
    }

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
