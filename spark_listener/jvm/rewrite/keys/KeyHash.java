package headwater.rewrite.keys;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Refused;
import headwater.shim.Scala;
import headwater.tap.AmbiguousKeys;
import headwater.tap.KeyNumber;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.BitwiseXor;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.Pmod;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * The 64-bit hash of a key. Keys that are equal in Spark's grouping have equal hashes. Floating-point keys are
 * normalized (NaN, -0.0), as Spark does when it plans an aggregate. XxHash64 skips nulls, so the hash of several keys
 * includes flags for nulls: (x, null) differs from (null, x).
 */
public final class KeyHash {
    private static final long SEED = 42L;
    private static final long CHECK_SEED = 0x27D4EB2F165667C5L;
    private static final String NARROWED = "spark.headwater.test.keyHashes"; // how many hashes there are, for tests of collisions

    private static final int MOST_KINDS = 100;

    private KeyHash() {}

    public static Expression of(Seq<Expression> keys, String operator, Capture capture) {
        List<Expression> all = Scala.list(keys);
        if (all.isEmpty()) {
            return new Literal(0L, DataTypes.LongType); // one group
        }
        if (all.size() == 1 && isNumber(all.get(0).dataType())) {
            return number(all.get(0), operator, capture);
        }
        return new XxHash64(Scala.seq(hashed(all, operator, false)), SEED);
    }

    /**
     * A second hash of the keys. If only the second hash differs, two keys have the same first hash, and results about
     * either must report that. Null if the first hash is the key itself, which is unique.
     */
    public static Expression check(List<Expression> keys, String operator) {
        if (keys.isEmpty() || (keys.size() == 1 && isNumber(keys.get(0).dataType()))) {
            return null;
        }
        return new XxHash64(Scala.seq(hashed(keys, operator, false)), CHECK_SEED);
    }

    /** As `of`, alike for equal keys of several relations, whichever of them may have nulls. */
    public static Expression ofSide(List<Expression> keys, String operator, Capture capture) {
        boolean hashes = keys.size() > 1 || (keys.size() == 1 && !isNumber(keys.get(0).dataType()));
        return hashes ? new XxHash64(Scala.seq(hashed(keys, operator, true)), SEED) : of(Scala.seq(keys), operator, capture);
    }

    /** As `check`, likewise. */
    public static Expression checkOfSide(List<Expression> keys, String operator) {
        return check(keys, operator) == null ? null : new XxHash64(Scala.seq(hashed(keys, operator, true)), CHECK_SEED);
    }

    /** The hash itself, or a hash with few values so that tests get collisions. */
    public static Expression narrowed(Expression hash) {
        String values = SQLConf.get().getConfString(NARROWED, "");
        return values.isEmpty() ? hash : new Pmod(hash, new Literal(Long.valueOf(values), DataTypes.LongType));
    }

    /** `always`: flags of what is null stand also for keys that never are. */
    private static List<Expression> hashed(List<Expression> keys, String operator, boolean always) {
        List<Expression> result = new ArrayList<>();
        for (Expression key : keys) {
            check(key, operator);
            result.add(isNested(key.dataType()) ? NestedHash.of(key) : NormalizeFloatingNumbers$.MODULE$.normalize(key));
        }
        for (int i = 0; keys.size() > 1 && i < keys.size(); i++) {
            Expression key = keys.get(i);
            if ((always || key.nullable()) && !isNested(key.dataType())) {
                result.add(new IsNull(key));
            }
        }
        return result;
    }

    /**
     * The hash of the keys of one side of a join. Null if a key is null, because such a row has no match. Keys that are
     * compared by `<=>` come in a form that is never null. Equal keys have equal hashes on both sides, whichever side
     * may be null.
     */
    static Expression ofJoin(List<Expression> keys, String operator, Capture capture) {
        if (keys.isEmpty()) {
            return new Literal(0L, DataTypes.LongType); // every row may match
        }
        List<Expression> hashed = new ArrayList<>();
        Expression absent = null;
        for (Expression key : keys) {
            check(key, operator);
            hashed.add(NormalizeFloatingNumbers$.MODULE$.normalize(key));
            if (key.nullable()) {
                absent = absent == null ? new IsNull(key) : new Or(absent, new IsNull(key));
            }
        }
        boolean number = keys.size() == 1 && isNumber(keys.get(0).dataType());
        Expression hash = number ? number(keys.get(0), operator, capture) : new XxHash64(Scala.seq(hashed), SEED);
        return absent == null ? hash : new If(absent, new Literal(null, DataTypes.LongType), hash);
    }

    /**
     * The number for a single key that is a whole number, which needs no hash. Two constants represent null and "none",
     * and segments shrink to a third. For a BIGINT, the capture reports rows whose key equals one of the two constants.
     */
    private static Expression number(Expression key, String operator, Capture capture) {
        if (key.dataType() == DataTypes.LongType && capture != null) {
            return new KeyNumber(Scala.seq(key), new AmbiguousKeys(operator, capture.reports));
        }
        Expression wide = key.dataType() == DataTypes.LongType ? key : Cast$.MODULE$.apply(key, DataTypes.LongType, false);
        List<Expression> values = new ArrayList<>();
        values.add(wide);
        values.add(new Literal(AmbiguousKeys.NULL, DataTypes.LongType));
        Expression present = key.nullable() ? new Coalesce(Scala.seq(values)) : wide;
        return new BitwiseXor(present, new Literal(AmbiguousKeys.MIXED, DataTypes.LongType));
    }

    /** The key without a cast that makes a whole number wider for a comparison. The hash is the same. */
    public static Expression widened(Expression key) {
        Expression child = key instanceof Cast cast ? cast.child() : null;
        boolean wider = child != null && isNumber(key.dataType()) && isNumber(child.dataType())
            && child.dataType().defaultSize() <= key.dataType().defaultSize();
        return wider ? child : key;
    }

    /** Whether the hash of this key identifies the key itself. */
    public static boolean tells(Expression key) {
        return isNumber(key.dataType()) && SQLConf.get().getConfString(NARROWED, "").isEmpty();
    }

    /**
     * The types of the hashed keys, a letter each, in the notation of python_functions/key_hash.py. Null if a worker
     * could not compute the same hash, as for floating-point numbers, decimals, times and nested types.
     */
    public static String kinds(List<Expression> keys) {
        if (!SQLConf.get().getConfString(NARROWED, "").isEmpty() || keys.size() > MOST_KINDS) {
            return null;
        }
        StringBuilder result = new StringBuilder();
        for (int i = 0; i < keys.size(); i++) {
            DataType type = keys.get(i).dataType();
            String kind = type == DataTypes.LongType ? "l" : isNumber(type) ? "i" : type == DataTypes.BooleanType ? "b"
                : type == DataTypes.DateType ? "d" : type == DataTypes.StringType ? "s" : null;
            if (kind == null) {
                return null;
            }
            result.append(keys.size() == 1 && isNumber(type) ? "n" : kind);
        }
        return result.toString();
    }

    public static boolean isNumber(DataType type) {
        return type == DataTypes.LongType || type == DataTypes.IntegerType || type == DataTypes.ShortType || type == DataTypes.ByteType;
    }

    private static boolean isNested(DataType type) {
        return type instanceof ArrayType || type instanceof StructType;
    }

    private static void check(Expression key, String operator) {
        DataType type = key.dataType();
        if (NestedHash.holdsMap(type)) {
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
