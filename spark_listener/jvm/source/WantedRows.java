package headwater.source;

import headwater.shim.Nodes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/** The only rows of files that are wanted, and the parts of a split that hold some of them. */
public final class WantedRows implements java.io.Serializable {
    private static final byte BITS = 1;

    private final HashMap<Object, byte[]> rows = new HashMap<>(); // path -> encoded; a task decodes the files that it reads

    /**
     * `encoded` maps the path of a file to the numbers of its rows. The first byte is the form, and integers have the
     * highest byte first. Form 0: the numbers, ascending, as longs. Form 1: the first number as a long, and a bit for
     * each number from there on, the highest bit of a byte first.
     */
    public WantedRows(Map<Object, byte[]> encoded) {
        rows.putAll(encoded);
    }

    /** Wanted rows of files by their paths, ascending. */
    public static WantedRows of(Map<String, long[]> numbers) {
        Map<Object, byte[]> encoded = new HashMap<>();
        for (Map.Entry<String, long[]> file : numbers.entrySet()) {
            ByteBuffer bytes = ByteBuffer.allocate(1 + 8 * file.getValue().length);
            bytes.position(1).slice().asLongBuffer().put(file.getValue());
            encoded.put(file.getKey(), bytes.array());
        }
        return new WantedRows(encoded);
    }

    /** The wanted rows of a split's file, ascending. */
    long[] of(PartitionedFile split) {
        byte[] encoded = rows.get(split.toPath().toString());
        if (encoded == null) {
            return new long[0];
        }
        return encoded[0] == BITS ? ofBits(encoded) : ofLongs(encoded);
    }

    private static long[] ofLongs(byte[] encoded) {
        long[] numbers = new long[encoded.length / 8];
        ByteBuffer.wrap(encoded, 1, encoded.length - 1).slice().asLongBuffer().get(numbers);
        return numbers;
    }

    private static long[] ofBits(byte[] encoded) {
        int count = 0;
        for (int i = 9; i < encoded.length; i++) {
            count += Integer.bitCount(encoded[i] & 0xff);
        }
        long[] numbers = new long[count];
        long first = ByteBuffer.wrap(encoded, 1, 8).getLong();
        int at = 0;
        for (int i = 9; i < encoded.length; i++, first += 8L) {
            for (int bits = encoded[i] & 0xff; bits != 0; bits &= ~Integer.highestOneBit(bits)) {
                numbers[at++] = first + Integer.numberOfLeadingZeros(bits) - 24;
            }
        }
        return numbers;
    }

    /** The place of the first that is not less than `row`. */
    static int place(long[] wanted, long row) {
        int found = Arrays.binarySearch(wanted, row);
        return found < 0 ? -found - 1 : found;
    }

    /**
     * Splits that contain all wanted rows of a split: runs of its row groups, without most groups that contain none.
     * The result is the split itself if its groups have no known positions.
     */
    static List<PartitionedFile> narrowed(PartitionedFile split, long[] wanted, Configuration conf) throws IOException {
        List<BlockMetaData> groups = groups(split, split.start(), split.start() + split.length(), conf);
        List<PartitionedFile> parts = new ArrayList<>();
        List<Long> expected = new ArrayList<>(); // the first rows of the groups in them
        boolean running = false; // whether the group before is taken
        long from = split.start();
        for (int i = 0; i < groups.size(); i++) {
            BlockMetaData group = groups.get(i);
            long first = group.getRowIndexOffset();
            if (first < 0L || (i > 0 && group.getStartingPos() <= groups.get(i - 1).getStartingPos())) {
                return whole(split);
            }
            boolean holds = place(wanted, first) < place(wanted, first + group.getRowCount());
            if (holds && !running) {
                from = i == 0 ? split.start() : group.getStartingPos();
            }
            if (!holds && running) {
                parts.add(part(split, from, group.getStartingPos()));
            }
            if (holds) {
                expected.add(first);
            }
            running = holds;
        }
        if (running) {
            parts.add(part(split, from, split.start() + split.length()));
        }
        return parts.size() == 1 && expected.size() == groups.size() || holds(parts, expected, conf) ? parts : whole(split);
    }

    /** Whether a reader of these parts, which assigns a group by its middle, reads the expected groups. */
    private static boolean holds(List<PartitionedFile> parts, List<Long> expected, Configuration conf) throws IOException {
        List<Long> met = new ArrayList<>();
        for (PartitionedFile part : parts) {
            for (BlockMetaData group : groups(part, part.start(), part.start() + part.length(), conf)) {
                met.add(group.getRowIndexOffset());
            }
        }
        return met.equals(expected);
    }

    private static List<BlockMetaData> groups(PartitionedFile split, long from, long to, Configuration conf) throws IOException {
        return ParquetFileReader.readFooter(conf, split.toPath(), ParquetMetadataConverter.range(from, to)).getBlocks();
    }

    private static PartitionedFile part(PartitionedFile split, long from, long to) {
        return Nodes.part(split, from, to - from);
    }

    private static List<PartitionedFile> whole(PartitionedFile split) {
        List<PartitionedFile> parts = new ArrayList<>();
        parts.add(split);
        return parts;
    }
}
