package headwater.rewrite.scans.formats;

import headwater.rewrite.core.Refused;
import headwater.shim.Scala;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;

/**
 * Formats whose records are lines: the rank of a record in its split, which the service finds again by Hadoop's rule
 * for lines of splits.
 */
abstract class LineRecords extends RecordFormat {
    public void check(String scan, HadoopFsRelation relation, Map<String, String> options) {
        checkMode(scan, options);
        String encoding = options.get("encoding");
        encoding = encoding == null ? options.get("charset") : encoding;
        if (encoding != null && !endsLinesAsAscii(encoding)) {
            throw new Refused(scan, "lines of a file in the encoding " + encoding + " do not end as lines of ASCII do");
        }
        String separator = options.get("linesep");
        if (separator != null && !separator.equals("\n")) {
            throw new Refused(scan, "a line separator of one's own is not understood yet");
        }
        checkSplits(scan, relation);
    }

    /** A split of a bzip2 file may begin in the middle of a line. A file that is no larger than the smallest split is never split. */
    private static void checkSplits(String scan, HadoopFsRelation relation) {
        String[] files = relation.location().inputFiles();
        boolean packed = false;
        for (String string : files) {
            packed |= string.endsWith(".bz2");
        }
        if (!packed) {
            return;
        }
        List<FileStatus> listed = relation.location() instanceof PartitioningAwareFileIndex partitioningAwareFileIndex
            ? Scala.list(partitioningAwareFileIndex.allFiles()) : null;
        for (int i = 0; listed != null && i < listed.size(); i++) {
            FileStatus file = listed.get(i);
            if (file.getPath().getName().endsWith(".bz2") && file.getLen() > RecordFormats.unit(relation)) {
                listed = null;
            }
        }
        if (listed == null) {
            throw new Refused(scan, "a large file compressed by bzip2 may be split where no line can be told");
        }
    }

    private static boolean endsLinesAsAscii(String encoding) {
        byte[] bytes = "\r\n #".getBytes(Charset.forName(encoding));
        return Arrays.equals(bytes, "\r\n #".getBytes(StandardCharsets.US_ASCII));
    }
}
