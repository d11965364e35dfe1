package headwater.shim;

import org.apache.spark.sql.catalyst.expressions.Expression;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * Base class of our expressions. Our expressions are never null and never folded, and equal if their class and their
 * single element are. Spark compares canonical plans to reuse exchanges.
 */
public abstract class OwnExpression extends Expression implements java.io.Serializable {
    public abstract Object productElement(int index);

    /** A copy of this expression with other children. */
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
