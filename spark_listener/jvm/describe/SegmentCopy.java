package headwater.describe;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import headwater.rewrite.core.Capture;
import headwater.tap.Report;
import headwater.tap.SegmentFiles;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Copies a segment for another boundary. If a plan contains the same subplan twice, Spark runs it once and reuses the
 * exchange. Cached rows are also made once for all queries. Each place needs the associations. The copy is made on our
 * own thread, and it is simpler than a format that shares segments.
 */
final class SegmentCopy {
    private SegmentCopy() {}

    /** A copy within a capture. */
    static Report copy(Report from, int boundary, Capture capture, Configuration conf) throws IOException {
        return copy(from, capture, boundary, null, capture, conf);
    }

    /** A copy for a boundary of another capture, whose columns they are; null: they are the same. */
    static Report copy(Report from, Capture of, int boundary, List<Map<String, Object>> columns, Capture capture, Configuration conf) throws IOException {
        return copy(from, of, boundary, columns, capture.id, capture.folder, conf);
    }

    /** A copy for a boundary of a capture whose folder is known. */
    static Report copy(Report from, Capture of, int boundary, List<Map<String, Object>> columns, String capture, String folder, Configuration conf) throws IOException {
        Report to = new Report();
        to.boundary = boundary;
        to.stage = from.stage;
        to.stageAttempt = from.stageAttempt;
        to.partition = from.partition;
        to.attempt = from.attempt;
        to.rows = from.rows;
        Path source = new Path(of.folder, from.segmentName());
        FileSystem files = SegmentFiles.of(source, conf);
        FSDataInputStream in = files.open(source);
        try {
            byte[] word = new byte[4];
            in.readFully(from.bytes - 12L, word);
            int length = (word[0] & 255) | (word[1] & 255) << 8 | (word[2] & 255) << 16 | (word[3] & 255) << 24;
            byte[] footer = new byte[length];
            long end = from.bytes - 16L - length; // of the blocks: a zero in place of a length follows
            in.readFully(end + 4L, footer);
            ObjectMapper json = new ObjectMapper();
            ObjectNode tree = (ObjectNode) json.readTree(footer);
            tree.put("capture", capture);
            tree.put("boundary", boundary);
            if (columns != null) {
                tree.set("columns", json.valueToTree(columns));
            }
            SegmentFiles.Hashed out = new SegmentFiles.Hashed(files.create(new Path(folder, to.segmentName()), true));
            try {
                in.seek(0L);
                copy(in, out, end);
                SegmentFiles.footer(out, json.writeValueAsBytes(tree));
            } finally {
                out.close();
            }
            to.bytes = out.bytes();
            to.sha256 = out.sha256();
        } finally {
            in.close();
        }
        return to;
    }

    private static void copy(FSDataInputStream in, OutputStream out, long length) throws IOException {
        byte[] buffer = new byte[65536];
        long left = length;
        while (left > 0L) {
            int read = in.read(buffer, 0, (int) Math.min(left, buffer.length));
            if (read < 0) {
                throw new IOException("the segment ends early");
            }
            out.write(buffer, 0, read);
            left -= read;
        }
    }
}
