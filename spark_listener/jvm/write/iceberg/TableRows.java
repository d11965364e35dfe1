package headwater.write.iceberg;

import headwater.shim.Accessors;
import headwater.shim.DataFiles;
import headwater.tap.FileRuns;
import headwater.tap.RowRuns;
import headwater.tap.TaskTaps;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/**
 * The data file of each row that a task writes to an Iceberg table. Iceberg's writers keep a file open for each
 * partition and begin a new file when it is full. So the rows of a partition fill its files in the order of writing,
 * and the commit message has the row count of each file. The writer's own key has the partition of a row after it was
 * written. Never throws. If the files are not known, the driver gets a report.
 */
final class TableRows {
    private static final String KEY = "org.apache.iceberg.PartitionKey";

    private final Configuration conf;
    private final FileRuns files = new FileRuns();
    private final Object key; // of the writer: its partition key, which changes with every row. Null for tables without partitions
    private final Method copy;
    private Map<Object, Object[]> partitions = new HashMap<>(); // copy of the key -> Object[] {the copy, Integer}
    private RowRuns runs = new RowRuns(); // of partitions
    private Object[] last; // of these
    private int partition;
    private boolean failed;

    TableRows(Object writer, Configuration conf) {
        this.conf = conf;
        Object found = null;
        Method copies = null;
        try {
            found = key(writer);
            copies = found == null ? null : found.getClass().getMethod("copy");
        } catch (Throwable unknown) {
            fail(String.valueOf(unknown));
        }
        key = found;
        copy = copies;
    }

    private static Object key(Object writer) throws IllegalAccessException {
        Object found = null;
        for (Class<?> type = writer.getClass(); type != null; type = type.getSuperclass()) {
            Field[] fields = type.getDeclaredFields();
            for (Field field : fields) {
                if (field.getType().getName().equals(KEY)) {
                    if (found != null) {
                        throw new IllegalStateException("the writer has several keys of partitions");
                    }
                    field.setAccessible(true);
                    found = field.get(writer);
                }
            }
        }
        return found;
    }

    /** A row was written. */
    void row() {
        if (failed) {
            return;
        }
        try {
            if (last == null || key != null && !key.equals(last[0])) {
                next();
            }
            runs.add(partition, 1L);
        } catch (IllegalStateException tooMany) {
            fail(tooMany.getMessage());
        } catch (Throwable fault) {
            fail(String.valueOf(fault));
        }
    }

    private void next() throws Exception {
        last = partitions.get(key);
        if (last == null) {
            Object kept = key == null ? null : copy.invoke(key);
            last = new Object[] {kept, partitions.size()};
            partitions.put(kept, last);
        }
        partition = ((Integer) last[1]);
    }

    /** The task has closed the files that the message names. */
    void committed(WriterCommitMessage message) {
        try {
            if (!failed) {
                tell(dataFiles(message));
            }
        } catch (Throwable fault) {
            fail(String.valueOf(fault));
        }
        release();
        TaskContext context = TaskContext.get();
        if (context != null) {
            TaskTaps.of(context).files(files);
        }
    }

    private void fail(String reason) {
        failed = true;
        files.fail(reason);
        release();
    }

    private void release() {
        runs = null;
        partitions = null;
        last = null;
    }

    private static List<Object> dataFiles(WriterCommitMessage message) {
        Object found = Accessors.get(message, "files");
        found = found == null ? Accessors.get(message, "dataFiles") : found;
        List<Object> result = new ArrayList<>();
        for (int i = 0; i < Array.getLength(found); i++) {
            result.add(Array.get(found, i));
        }
        return result;
    }

    private void tell(List<Object> written) throws Exception {
        Map<Integer, List<long[]>> byPartition = new HashMap<>(); // {file, rows that it has still to get}
        Map<List<?>, Integer> numbers = numbers();
        Map<Integer, String> lastNames = new HashMap<>();
        for (Object file : written) {
            Integer partition = key == null ? Integer.valueOf(0) : numbers.get(values(Accessors.get(file, "partition")));
            if (partition == null || partition >= partitions.size()) {
                throw new IllegalStateException("a data file is of a partition of which no row was");
            }
            if (!"PARQUET".equals(DataFiles.format(file))) {
                throw new IllegalStateException("data files of the format " + DataFiles.format(file) + " are not followed yet");
            }
            String name = new Path(DataFiles.location(file)).getName();
            String before = lastNames.put(partition, name);
            if (before != null && before.compareTo(name) >= 0) { // names count up
                throw new IllegalStateException("in which order data files were written is not known");
            }
            byPartition.computeIfAbsent(partition, added -> new ArrayList<>()).add(new long[] {added(file), DataFiles.rows(file)});
        }
        for (int i = 0; i < runs.size(); i++) {
            fill(byPartition.get(runs.number(i)), runs.count(i));
        }
        if (byPartition.values().stream().anyMatch(open -> !open.isEmpty())) {
            throw new IllegalStateException("data files have more rows than were written");
        }
    }

    /** Puts so many rows into the first files of a partition that are not full. */
    private void fill(List<long[]> open, long rows) {
        long left = rows;
        while (left > 0L) {
            if (open == null || open.isEmpty()) {
                throw new IllegalStateException("data files have fewer rows than were written");
            }
            long[] file = open.get(0);
            long count = Math.min(left, file[1]);
            files.rows((int) file[0], count);
            file[1] -= count;
            left -= count;
            if (file[1] == 0L) {
                open.remove(0);
            }
        }
    }

    private int added(Object file) throws Exception {
        Path path = DataFiles.qualified(DataFiles.location(file), conf);
        FileStatus status = FileLook.at(path, conf);
        long length = DataFiles.length(file);
        if (status.getLen() != length) {
            throw new IllegalStateException(path + " has " + status.getLen() + " bytes, and should have " + length);
        }
        int number = files.file(path.toString());
        files.closed(number, length, status.getModificationTime());
        return number;
    }

    private Map<List<?>, Integer> numbers() throws Exception {
        Map<List<?>, Integer> result = new HashMap<>();
        java.util.Iterator<Map.Entry<Object, Object[]>> all = partitions.entrySet().iterator();
        while (key != null && all.hasNext()) {
            Map.Entry<Object, Object[]> entry = all.next();
            if (result.put(values(entry.getKey()), (Integer) entry.getValue()[1]) != null) {
                throw new IllegalStateException("two partitions have the same values");
            }
        }
        return result;
    }

    /** The values in a row of partition values, in a form that can be compared. */
    private static List<?> values(Object struct) throws Exception {
        Method get = struct.getClass().getMethod("get", Integer.TYPE, Class.class);
        get.setAccessible(true);
        int size = ((Integer) Accessors.get(struct, "size"));
        Object[] result = new Object[size];
        for (int i = 0; i < size; i++) {
            Object value = get.invoke(struct, i, Object.class);
            value = value instanceof CharSequence ? value.toString() : value;
            result[i] = value instanceof byte[] array ? ByteBuffer.wrap(array) : value;
        }
        return Arrays.asList(result);
    }
}
