package headwater.rewrite.keys;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BitwiseOr;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion;
import org.apache.spark.sql.catalyst.expressions.UnixDate;
import org.apache.spark.sql.catalyst.expressions.UnscaledValue;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;

/**
 * A value as 64 bits, for a condition that a trace evaluates again (docs: capture format, role `value`). Whole numbers
 * and booleans stay unchanged. Dates are days, timestamps are microseconds, and decimals have no point. `placeholder`
 * replaces the value in the condition.
 */
public record ComparedValue(AttributeReference placeholder, Expression value) {
    public static final int MOST = 62; // a bit for each that may be null


    public static boolean fits(DataType type) {
        return type == DataTypes.LongType || type == DataTypes.IntegerType || type == DataTypes.ShortType || type == DataTypes.ByteType
            || type == DataTypes.BooleanType || type == DataTypes.DateType || type == DataTypes.TimestampType
            || type == DataTypes.TimestampNTZType || (type instanceof DecimalType decimalType && decimalType.precision() <= 18);
    }

    public Expression encoded() {
        DataType type = value.dataType();
        if (type == DataTypes.LongType) {
            return value;
        }
        if (type == DataTypes.TimestampType || type == DataTypes.TimestampNTZType) {
            return new PreciseTimestampConversion(value, type, DataTypes.LongType);
        }
        if (type instanceof DecimalType) {
            return new UnscaledValue(value);
        }
        return Cast$.MODULE$.apply(type == DataTypes.DateType ? new UnixDate(value) : value, DataTypes.LongType, false);
    }

    /** A bit for each value that is null. */
    public static Expression nulls(List<ComparedValue> values) {
        Expression result = number(0L);
        for (int i = 0; i < values.size(); i++) {
            Expression value = values.get(i).value();
            if (value.nullable()) {
                result = new BitwiseOr(result, new If(new IsNull(value), number(1L << i), number(0L)));
            }
        }
        return result;
    }

    private static Expression number(long value) {
        return new Literal(value, DataTypes.LongType);
    }
}
