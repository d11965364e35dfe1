package headwater.rewrite.scans.formats;

import headwater.rewrite.core.Refused;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/** Formats whose records are lines: the rank of a record in its split, which the service finds again by Hadoop's rule for lines of splits. */
abstract class LineRecords extends RecordFormat {
    public void check(String scan, HadoopFsRelation relation, Map options) {
        checkMode(scan, options);
        String encoding = (String) options.get("encoding");
        encoding = encoding == null ? (String) options.get("charset") : encoding;
        if (encoding != null && !endsLinesAsAscii(encoding)) {
            throw new Refused(scan, "lines of a file in the encoding " + encoding + " do not end as lines of ASCII do");
        }
        String separator = (String) options.get("linesep");
        if (separator != null && !separator.equals("\n")) {
            throw new Refused(scan, "a line separator of one's own is not understood yet");
        }
        String[] files = relation.location().inputFiles();
        for (int i = 0; i < files.length; i++) {
            if (files[i].endsWith(".bz2")) {
                throw new Refused(scan, "a file compressed by bzip2 is split where no line can be told");
            }
        }
    }

    private static boolean endsLinesAsAscii(String encoding) {
        byte[] bytes = "\r\n #".getBytes(Charset.forName(encoding));
        return Arrays.equals(bytes, "\r\n #".getBytes(StandardCharsets.US_ASCII));
    }
}
