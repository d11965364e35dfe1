package headwater.source;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A column of a batch whose values are longs, none of them null, which are computed when they are asked for. */
public abstract class LongColumn extends ColumnVector {
    protected LongColumn() {
        super(DataTypes.LongType);
    }

    public boolean hasNull() {
        return false;
    }

    public int numNulls() {
        return 0;
    }

    public boolean isNullAt(int row) {
        return false;
    }

    public void close() {}

    public boolean getBoolean(int row) {
        throw other();
    }

    public byte getByte(int row) {
        throw other();
    }

    public short getShort(int row) {
        throw other();
    }

    public int getInt(int row) {
        throw other();
    }

    public float getFloat(int row) {
        throw other();
    }

    public double getDouble(int row) {
        throw other();
    }

    public ColumnarArray getArray(int row) {
        throw other();
    }

    public ColumnarMap getMap(int row) {
        throw other();
    }

    public Decimal getDecimal(int row, int precision, int scale) {
        throw other();
    }

    public UTF8String getUTF8String(int row) {
        throw other();
    }

    public byte[] getBinary(int row) {
        throw other();
    }

    public ColumnVector getChild(int ordinal) {
        throw other();
    }

    private static UnsupportedOperationException other() {
        return new UnsupportedOperationException("its values are longs");
    }
}
