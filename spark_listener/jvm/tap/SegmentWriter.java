package headwater.tap;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.deploy.SparkHadoopUtil;

/**
 * Writes the segment of one boundary in one task attempt: under a temporary name, renamed when the attempt has
 * succeeded (docs: capture format, section 4). Whatever goes wrong turns into a report of a missing segment, never into
 * an exception of the task.
 */
final class SegmentWriter {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static Configuration hadoop; // of this JVM: making one takes milliseconds

    final SegmentSpec spec;
    private final TaskContext context;
    private final TaskTaps task;
    private final Report report = new Report();
    private final List<long[]> buffers = new ArrayList<>(); // the last one is being filled
    private final int[] stored; // see BlockEncoder
    private SegmentFiles.Hashed out;
    private FileSystem fileSystem;
    private boolean done;

    SegmentWriter(SegmentSpec spec, TaskContext context, TaskTaps task) {
        this.spec = spec;
        this.context = context;
        this.task = task;
        this.stored = new int[spec.columns];
        report.boundary = spec.boundary;
        report.stage = context.stageId();
        report.stageAttempt = context.stageAttemptNumber();
        report.partition = spec.firstPartition + context.partitionId();
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
        if (spec.isOrdered() && buffer != buffers.get(buffers.size() - 1)) {
            fail(new IllegalStateException("rows of an earlier part of the task came after those of a later one"));
            return;
        }
        long began = ThreadTime.nanos();
        try {
            BlockEncoder encoder = task.encoder();
            encoder.encode(buffer, TapSink.HEADER, rows, stored);
            if (out == null) {
                create();
            }
            out.write(encoder.block, 0, encoder.length);
            report.rows += rows;
        } catch (Throwable fault) {
            fail(fault);
        }
        report.nanos += ThreadTime.nanos() - began;
    }

    /**
     * The attempt ended: publish or delete the segment. An incomplete segment cannot be used. A trace sees whether
     * anything refers to it.
     */
    void finish(boolean succeeded, FileRuns files) throws IOException {
        drain();
        if (!succeeded && (!spec.reports.ofFailed || report.fault != null)) {
            abandon();
            return;
        }
        if (report.fault == null && report.rows > 0) {
            long began = ThreadTime.nanos();
            try {
                publish(files);
            } catch (Throwable fault) {
                fail(fault);
            }
            report.nanos += ThreadTime.nanos() - began;
        }
        report();
    }

    /** Discard the written part. */
    void fail(Throwable cause) {
        if (report.fault == null) {
            report.fault = String.valueOf(cause);
        }
        if (cause instanceof java.io.InterruptedIOException || cause instanceof java.nio.channels.ClosedByInterruptException) {
            Thread.currentThread().interrupt(); // the interrupt was the task's, not ours
        }
        abandon();
    }

    /** Report to the driver, once. A boundary without rows has no segment and no report. */
    void report() {
        if (!done && (report.rows > 0 || report.fault != null)) {
            done = true;
            spec.reports.add(report);
        }
    }

    private void drain() {
        for (int i = 0; i < buffers.size(); i++) {
            flush(buffers.get(i));
        }
    }

    private void publish(FileRuns files) throws IOException {
        Map<String, Object> footer = new java.util.LinkedHashMap<>();
        footer.put("capture", spec.capture);
        footer.put("boundary", spec.boundary);
        footer.put("stage", report.stage);
        footer.put("stage_attempt", report.stageAttempt);
        footer.put("partition", report.partition);
        footer.put("attempt", report.attempt);
        footer.put("rows", report.rows);
        footer.put("columns", JSON.readTree(spec.columnsJson));
        if (spec.kind.equals(SegmentSpec.SINK) && !spec.placed) {
            if (files == null) {
                throw new IllegalStateException("the file writer did not say which rows went to which files");
            }
            files.describe(footer, report.rows);
            report.copied = files.copies();
        }
        SegmentFiles.footer(out, JSON.writeValueAsBytes(footer));
        SegmentFiles.Hashed written = out;
        out = null;
        written.close();
        if (!fileSystem.rename(temporary(), new Path(spec.folder, report.segmentName()))) {
            throw new IOException("the segment could not be renamed");
        }
        report.bytes = written.bytes();
        report.sha256 = written.sha256();
    }

    private void create() throws IOException {
        fileSystem = SegmentFiles.of(temporary(), hadoop());
        out = new SegmentFiles.Hashed(fileSystem.create(temporary(), true));
        out.write(SegmentFiles.MAGIC);
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
