package headwater.rewrite.keys;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.catalyst.expressions.ArrayTransform;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** The hash of a struct or an array: of its parts, and of flags for nulls, because Spark's own hash skips nulls at every level. */
final class NestedHash {
    private NestedHash() {}

    static Expression of(Expression value) {
        List<Expression> parts = new ArrayList<>();
        DataType type = value.dataType();
        if (type instanceof StructType struct) {
            for (int i = 0; i < struct.length(); i++) {
                parts.add(of(new GetStructField(value, i, Scala.none())));
            }
        } else if (type instanceof ArrayType array) {
            NamedLambdaVariable element = new NamedLambdaVariable(
                "x", array.elementType(), array.containsNull(), NamedExpression$.MODULE$.newExprId(), new AtomicReference<>());
            parts.add(new ArrayTransform(value, new LambdaFunction(of(element), Scala.seq(element), false)));
        } else {
            parts.add(NormalizeFloatingNumbers$.MODULE$.normalize(value));
        }
        if (value.nullable()) {
            parts.add(new IsNull(value));
        }
        return new XxHash64(Scala.seq(parts), 42L);
    }

    static boolean holdsMap(DataType type) {
        if (type instanceof ArrayType array) {
            return holdsMap(array.elementType());
        }
        if (!(type instanceof StructType struct)) {
            return type instanceof MapType;
        }
        for (int i = 0; i < struct.length(); i++) {
            if (holdsMap(struct.apply(i).dataType())) {
                return true;
            }
        }
        return false;
    }
}
