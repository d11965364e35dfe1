package headwater.roundrobin;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** The hash by which Spark sorts rows before it deals them out. */
public final class RowHash extends RowImage {
    public RowHash(scala.collection.immutable.Seq<Expression> children) {
        super(children);
    }

    public DataType dataType() {
        return DataTypes.IntegerType;
    }

    Object of(UnsafeRow row) {
        return row.hashCode();
    }

    String code(String row) {
        return row + ".hashCode()";
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> children) {
        return new RowHash(children);
    }
}
