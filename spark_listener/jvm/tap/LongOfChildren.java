package headwater.tap;

import headwater.shim.OwnExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Base class of expressions that compute a BIGINT from their children. */
abstract class LongOfChildren extends OwnExpression {
    protected final scala.collection.immutable.Seq<Expression> children;

    protected LongOfChildren(scala.collection.immutable.Seq<Expression> children) {
        this.children = children;
    }

    public scala.collection.immutable.Seq<Expression> children() {
        return children;
    }

    public DataType dataType() {
        return DataTypes.LongType;
    }

    public Object productElement(int index) {
        return children;
    }
}
