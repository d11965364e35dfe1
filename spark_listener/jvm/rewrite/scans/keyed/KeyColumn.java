package headwater.rewrite.scans.keyed;

import headwater.rewrite.core.Refused;
import headwater.tap.KeyRecorder;
import java.util.TimeZone;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion;
import org.apache.spark.sql.catalyst.expressions.UnixDate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;

/**
 * A column of a table's key. The types in Spark and in the database decide how its values are compared (docs: capture
 * format, section 3). A type is refused if Spark may read two values of the database as one. `kind` is its kind in the
 * manifest, and `recorded` its value in the form of the recorder.
 */
record KeyColumn(Attribute column, String kind, String recorded) {
    private static final String NAME = "JDBC";

    /** `stated`: the type in PostgreSQL's words; null: the database did not say. */
    static KeyColumn of(Attribute column, String stated) {
        DataType type = column.dataType();
        boolean known = stated != null;
        if (isWhole(type) && (!known || stated.equals("smallint") || stated.equals("integer") || stated.equals("bigint"))) {
            return new KeyColumn(column, "int", "int");
        }
        if (type.equals(DataTypes.StringType)) {
            String kind = !known || isText(stated) ? "text" : stated.equals("uuid") ? "uuid" : isPadded(stated) ? "char" : null;
            if (kind != null) {
                return new KeyColumn(column, kind, kind);
            }
        }
        if (type.equals(DataTypes.BooleanType) && (!known || stated.equals("boolean"))) {
            return new KeyColumn(column, "boolean", "boolean");
        }
        if (type.equals(DataTypes.DateType) && (!known || stated.equals("date"))) {
            return new KeyColumn(column, "date", "date");
        }
        if (type instanceof DecimalType decimalType) {
            String kind = "decimal(" + decimalType.precision() + "," + decimalType.scale() + ")";
            if (!known || ("numeric" + kind.substring(7)).equals(stated)) { // numeric without digits may have more than Spark reads
                return new KeyColumn(column, kind, kind);
            }
        }
        boolean isTime = known && stated.startsWith("timestamp");
        if (isTime && stated.endsWith("with time zone") && type.equals(DataTypes.TimestampType)) {
            return new KeyColumn(column, "instant", "instant");
        }
        if (isTime && stated.endsWith("without time zone")) {
            if (type.equals(DataTypes.TimestampNTZType)) {
                return new KeyColumn(column, "timestamp", "timestamp");
            }
            if (type.equals(DataTypes.TimestampType) && KeyRecorder.isUtc(TimeZone.getDefault())) {
                return new KeyColumn(column, "timestamp", "local");
            }
            throw new Refused(NAME, "its key " + column.name()
                + " is a time without a zone, two of which may be one time in the zone of this JVM (with preferTimestampNTZ they are read as they are)");
        }
        throw new Refused(NAME, "its key " + column.name() + " is of the type " + (known ? stated : type.simpleString())
            + "; rows are followed by keys of whole numbers, text, UUIDs, decimals of stated digits, days, times and booleans");
    }

    /** The column as the recorder takes it. */
    Expression value() {
        DataType type = column.dataType();
        if (type.equals(DataTypes.DateType)) {
            return Cast$.MODULE$.apply(new UnixDate(column), DataTypes.LongType, false);
        }
        if (type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType)) {
            return new PreciseTimestampConversion(column, type, DataTypes.LongType);
        }
        return type.equals(DataTypes.BooleanType) || isWhole(type) ? KeyedSource.wide(column) : column;
    }

    static boolean isWhole(DataType type) {
        return type == DataTypes.LongType || type == DataTypes.IntegerType || type == DataTypes.ShortType;
    }

    private static boolean isText(String stated) {
        return stated.equals("text") || stated.startsWith("character varying") || stated.equals("citext") || stated.endsWith(".citext");
    }

    private static boolean isPadded(String stated) {
        return stated.equals("bpchar") || (stated.startsWith("character(") && stated.endsWith(")"));
    }
}
