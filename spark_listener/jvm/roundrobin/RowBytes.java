package headwater.roundrobin;

import java.nio.ByteBuffer;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** The order of Spark's sort for rows with equal hashes: shorter rows first, then by bytes. The value is used for equal hashes only. */
public final class RowBytes extends RowImage {
    public RowBytes(scala.collection.immutable.Seq<Expression> children) {
        super(children);
    }

    public DataType dataType() {
        return DataTypes.BinaryType;
    }

    Object of(UnsafeRow row) {
        return ByteBuffer.allocate(4 + row.getSizeInBytes()).putInt(row.getSizeInBytes()).put(row.getBytes()).array();
    }

    String code(String row) {
        return "java.nio.ByteBuffer.allocate(4 + " + row + ".getSizeInBytes()).putInt(" + row + ".getSizeInBytes()).put(" + row + ".getBytes()).array()";
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> children) {
        return new RowBytes(children);
    }
}
