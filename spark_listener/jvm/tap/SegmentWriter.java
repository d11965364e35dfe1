package headwater.tap;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.deploy.SparkHadoopUtil;

/**
 * Writes the segment of one boundary in one task attempt: under a temporary name, renamed when the attempt has succeeded (docs: capture
 * format, section 4). Whatever goes wrong turns into a report of a missing segment, never into an exception of the task.
 */
final class SegmentWriter {
    private static final byte[] MAGIC = "HWSEG001".getBytes(StandardCharsets.US_ASCII);
    private static Configuration hadoop; // of this JVM: making one takes milliseconds

    final SegmentSpec spec;
    private final TaskContext context;
    private final TaskTaps task;
    private final Report report = new Report();
    private final List buffers = new ArrayList(); // the last one is being filled
    private OutputStream out;
    private FileSystem fileSystem;
    private MessageDigest digest;
    private boolean done;

    SegmentWriter(SegmentSpec spec, TaskContext context, TaskTaps task) {
        this.spec = spec;
        this.context = context;
        this.task = task;
        report.boundary = spec.boundary;
        report.stage = context.stageId();
        report.stageAttempt = context.stageAttemptNumber();
        report.partition = context.partitionId();
        report.attempt = context.taskAttemptId();
    }

    /** A new buffer begins, after what the earlier ones hold. */
    void open(long[] buffer) {
        drain();
        buffer[0] = TapSink.HEADER;
        buffer[1] = ((context.taskAttemptId() & 0x7FFFFFL) << 40) | report.rows;
        buffers.add(buffer);
    }

    /** A larger buffer with the content of a small one that is full. */
    long[] grow(long[] buffer, int length) {
        long[] larger = new long[length];
        System.arraycopy(buffer, 0, larger, 0, buffer.length);
        buffers.set(buffers.indexOf(buffer), larger); // arrays are equal by identity
        return larger;
    }

    /** Writes what the buffer holds; it is empty afterwards. */
    void flush(long[] buffer) {
        int rows = ((int) buffer[0] - TapSink.HEADER) / spec.columns;
        buffer[0] = TapSink.HEADER;
        if (rows == 0 || report.fault != null) {
            return;
        }
        if (!spec.kind.equals(SegmentSpec.GROUP) && buffer != buffers.get(buffers.size() - 1)) {
            fail(new IllegalStateException("rows of an earlier part of the task came after those of a later one"));
            return;
        }
        try {
            BlockEncoder encoder = task.encoder();
            encoder.encode(buffer, TapSink.HEADER, rows, spec.columns);
            if (out == null) {
                create();
            }
            write(encoder.block, encoder.length);
            report.rows += rows;
        } catch (Throwable fault) {
            fail(fault);
        }
    }

    /** The attempt ended: publish or delete. */
    void finish(boolean succeeded, FileRuns files) throws IOException {
        drain();
        if (!succeeded) {
            abandon();
            return;
        }
        if (report.fault == null && report.rows > 0) {
            try {
                publish(files);
            } catch (Throwable fault) {
                fail(fault);
            }
        }
        report();
    }

    /** What was written so far is of no use. */
    void fail(Throwable cause) {
        if (report.fault == null) {
            report.fault = String.valueOf(cause);
        }
        if (cause instanceof java.io.InterruptedIOException || cause instanceof java.nio.channels.ClosedByInterruptException) {
            Thread.currentThread().interrupt(); // the interrupt was the task's, not ours
        }
        abandon();
    }

    /** Tells the driver, once. A boundary without rows has no segment, and nothing to tell. */
    void report() {
        if (!done && (report.rows > 0 || report.fault != null)) {
            done = true;
            spec.reports.add(report);
        }
    }

    private void drain() {
        for (int i = 0; i < buffers.size(); i++) {
            flush((long[]) buffers.get(i));
        }
    }

    private void publish(FileRuns files) throws IOException {
        Map footer = new java.util.LinkedHashMap();
        footer.put("capture", spec.capture);
        footer.put("boundary", Integer.valueOf(spec.boundary));
        footer.put("stage", Integer.valueOf(report.stage));
        footer.put("stage_attempt", Integer.valueOf(report.stageAttempt));
        footer.put("partition", Integer.valueOf(report.partition));
        footer.put("attempt", Long.valueOf(report.attempt));
        footer.put("rows", Long.valueOf(report.rows));
        ObjectMapper json = new ObjectMapper();
        footer.put("columns", json.readTree(spec.columnsJson));
        if (spec.kind.equals(SegmentSpec.SINK)) {
            if (files == null) {
                throw new IllegalStateException("the file writer did not say which rows went to which files");
            }
            files.describe(footer, report.rows);
        }
        byte[] text = json.writeValueAsBytes(footer);
        byte[] number = new byte[4];
        write(number, 4); // 0 in place of a block's length
        write(text, text.length);
        BlockEncoder.putInt(number, 0, text.length);
        write(number, 4);
        write(MAGIC, MAGIC.length);
        out.close();
        out = null;
        if (!fileSystem.rename(temporary(), new Path(spec.folder, report.segmentName()))) {
            throw new IOException("the segment could not be renamed");
        }
        byte[] hash = digest.digest();
        StringBuilder hexadecimal = new StringBuilder();
        for (int i = 0; i < hash.length; i++) {
            hexadecimal.append(Character.forDigit((hash[i] >> 4) & 15, 16)).append(Character.forDigit(hash[i] & 15, 16));
        }
        report.sha256 = hexadecimal.toString();
    }

    private void create() throws Exception {
        Path path = temporary();
        fileSystem = path.getFileSystem(hadoop());
        if (fileSystem instanceof LocalFileSystem) {
            fileSystem = ((LocalFileSystem) fileSystem).getRawFileSystem(); // no .crc file beside each segment
        }
        digest = MessageDigest.getInstance("SHA-256");
        out = fileSystem.create(path, true);
        write(MAGIC, MAGIC.length);
    }

    private void write(byte[] bytes, int length) throws IOException {
        out.write(bytes, 0, length);
        digest.update(bytes, 0, length);
        report.bytes += length;
    }

    private void abandon() {
        buffers.clear();
        if (out == null) {
            return;
        }
        try {
            out.close();
        } catch (Throwable ignored) {
            // it is deleted next
        }
        out = null;
        try {
            fileSystem.delete(temporary(), false);
        } catch (Throwable ignored) {
            // a file named .tmp stays behind; nobody lists it
        }
    }

    private Path temporary() {
        return new Path(spec.folder, report.segmentName() + ".tmp");
    }

    private static synchronized Configuration hadoop() {
        if (hadoop == null) {
            hadoop = SparkHadoopUtil.get().newConfiguration(SparkEnv.get().conf());
        }
        return hadoop;
    }
}
