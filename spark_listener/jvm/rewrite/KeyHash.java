package headwater.rewrite;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers$;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * The 64-bit hash that stands for a key. Equal keys, by Spark's own equality of groups, have equal hashes: floating-point keys are
 * normalised as Spark normalises them when it plans an aggregate (NaN, -0.0), and since XxHash64 skips nulls, flags of what is null
 * join the hash of several keys ((x, null) is not (null, x)).
 */
final class KeyHash {
    private KeyHash() {}

    static Expression of(Seq keys, String operator) {
        List all = Scala.list(keys);
        if (all.isEmpty()) {
            return new Literal(Long.valueOf(0L), org.apache.spark.sql.types.DataTypes.LongType); // one group
        }
        List hashed = new ArrayList();
        for (int i = 0; i < all.size(); i++) {
            Expression key = (Expression) all.get(i);
            check(key, operator);
            hashed.add(NormalizeFloatingNumbers$.MODULE$.normalize(key));
        }
        for (int i = 0; all.size() > 1 && i < all.size(); i++) {
            Expression key = (Expression) all.get(i);
            if (key.nullable()) {
                hashed.add(new IsNull(key));
            }
        }
        return new XxHash64(Scala.seq(hashed), 42L);
    }

    private static void check(Expression key, String operator) {
        DataType type = key.dataType();
        if (type instanceof ArrayType || type instanceof MapType || type instanceof StructType) {
            // nulls within would be skipped by the hash
            throw new Refused(operator, "a key of the type " + type.catalogString() + " is not hashed yet");
        }
        if (!org.apache.spark.sql.catalyst.util.UnsafeRowUtils$.MODULE$.isBinaryStable(type)) {
            throw new Refused(operator, "a key with the collation of " + type.catalogString() + " is not hashed yet");
        }
        if (!key.deterministic()) {
            throw new Refused(operator, "a key that is not deterministic cannot be hashed twice");
        }
    }
}
