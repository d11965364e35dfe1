package headwater.source;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.PrimitiveIterator;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.spark.sql.execution.datasources.RecordReaderIterator;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;

/**
 * Observes how Spark's vectorized Parquet reader takes row groups, and so knows the position of each batch in the file.
 * An instance replaces the reader's source of row groups, which is in a private field. Other layouts of that class are
 * not supported.
 */
final class RowGroups implements InvocationHandler, BatchPlaces {
    private static final Field READER = field(RecordReaderIterator.class, "rowReader");
    private static final Field SOURCE = field(VectorizedParquetRecordReader.class.getSuperclass(), "reader");

    private final Object original;
    private long next; // index of the next row in the file, while rows follow one another
    private long left; // rows of the group that no batch has had yet
    private PrimitiveIterator.OfLong indexes; // null: the group is read whole

    private RowGroups(Object original) {
        this.original = original;
    }

    /** Whether this Spark's reader is built as we know it. */
    static boolean known() {
        return READER != null && SOURCE != null && SOURCE.getType().isInterface();
    }

    /** Observes the reader behind an iterator of batches. The iterator must be unread. */
    static RowGroups watch(Object batches) throws IllegalAccessException {
        if (!(batches instanceof RecordReaderIterator<?>)) {
            throw new IllegalStateException("the reader gives a " + batches.getClass().getName());
        }
        Object reader = READER.get(batches);
        if (!(reader instanceof VectorizedParquetRecordReader)) {
            throw new IllegalStateException("the reader is a " + reader.getClass().getName());
        }
        RowGroups groups = new RowGroups(SOURCE.get(reader));
        Class<?> source = SOURCE.getType();
        SOURCE.set(reader, Proxy.newProxyInstance(source.getClassLoader(), new Class<?>[] {source}, groups));
        return groups;
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        Object result;
        try {
            method.setAccessible(true);
            result = method.invoke(original, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
        if (result instanceof PageReadStore pageReadStore) {
            begin(pageReadStore);
        }
        return result;
    }

    private void begin(PageReadStore group) {
        Optional<Long> offset = group.getRowIndexOffset();
        Optional<PrimitiveIterator.OfLong> listed = group.getRowIndexes();
        next = offset.isPresent() ? offset.get().longValue() : -1L;
        indexes = listed.isPresent() ? listed.get() : null;
        left = group.getRowCount();
    }

    /** The row indexes of the next batch. */
    public void place(RowIndexVector positions, int rows) {
        if (next < 0L || rows > left) {
            throw new IllegalStateException(next < 0L ? "the file does not tell where a row group begins" : "a batch reaches over a row group");
        }
        left -= rows;
        if (indexes == null) {
            positions.from(next);
            next += rows;
            return;
        }
        long[] list = new long[rows];
        for (int i = 0; i < rows; i++) {
            list[i] = next + indexes.nextLong(); // they count from the beginning of the group
        }
        positions.list(list);
    }

    private static Field field(Class<?> owner, String name) {
        try {
            Field field = owner.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (Throwable unknown) {
            return null;
        }
    }
}
