package headwater.source.iceberg;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The first columns of a row, followed by a reference. The reference is a long, without an object. Rare types, and
 * types of one line of Spark only, come from the JoinedRow's left row, which has more columns than the query reads.
 */
final class NumberedRow extends JoinedRow {
    private final int columns; // before the reference
    private InternalRow row;
    private long reference;

    NumberedRow(int columns) {
        this.columns = columns;
    }

    NumberedRow of(InternalRow next, long its) {
        row = next;
        reference = its;
        withLeft(next);
        return this;
    }

    public int numFields() {
        return columns + 1;
    }

    public boolean isNullAt(int column) {
        return column != columns && row.isNullAt(column);
    }

    public long getLong(int column) {
        return column == columns ? reference : row.getLong(column);
    }

    public Object get(int column, DataType type) {
        return column == columns ? (Object) Long.valueOf(reference) : row.get(column, type);
    }

    public boolean getBoolean(int column) {
        return row.getBoolean(column);
    }

    public int getInt(int column) {
        return row.getInt(column);
    }

    public double getDouble(int column) {
        return row.getDouble(column);
    }

    public UTF8String getUTF8String(int column) {
        return row.getUTF8String(column);
    }

    public InternalRow getStruct(int column, int fields) {
        return row.getStruct(column, fields);
    }

    public ArrayData getArray(int column) {
        return row.getArray(column);
    }

    public MapData getMap(int column) {
        return row.getMap(column);
    }

    public boolean anyNull() {
        for (int i = 0; i < columns; i++) {
            if (row.isNullAt(i)) {
                return true;
            }
        }
        return false;
    }

    public void setNullAt(int column) {
        throw new UnsupportedOperationException("what was read is not changed");
    }

    public void update(int column, Object value) {
        throw new UnsupportedOperationException("what was read is not changed");
    }

    public InternalRow copy() {
        return new NumberedRow(columns).of(row.copy(), reference);
    }
}
