package headwater.rewrite.scans;

import headwater.rewrite.core.Refused;
import headwater.shim.Scala;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;
import org.apache.spark.sql.internal.SQLConf;

/** Which file sources have records that can be numbered exactly, and found again by their number. */
public final class SourceFormats {
    private SourceFormats() {}

    /**
     * Throws Refused where Spark would push filters into a reader that fails at the first bad record: ours gets none, since it counts every
     * record, and would fail at those that the filters skip.
     */
    public static void checkFilters(LogicalRelation scan, HadoopFsRelation relation, LogicalPlan plan) {
        boolean pushes = relation.fileFormat().getClass() == CSVFileFormat.class && SQLConf.get().csvFilterPushDown();
        if (pushes && "failfast".equalsIgnoreCase((String) options(relation).get("mode")) && filters(plan, scan)) {
            throw new Refused("Scan " + relation.fileFormat(), "with mode FAILFAST a filter decides which bad records fail the query");
        }
    }

    /** Whether a filter stands over a scan, with nothing but projections between, anywhere in a plan. */
    private static boolean filters(LogicalPlan node, LogicalRelation scan) {
        if (node instanceof Filter && reads(((Filter) node).child(), scan)) {
            return true;
        }
        List below = Scala.list(node.children());
        below.addAll(Scala.list(node.subqueries()));
        for (int i = 0; i < below.size(); i++) {
            if (filters((LogicalPlan) below.get(i), scan)) {
                return true;
            }
        }
        return false;
    }

    private static boolean reads(LogicalPlan node, LogicalRelation scan) {
        LogicalPlan below = node;
        while (below instanceof Project || below instanceof Filter) {
            below = (LogicalPlan) below.children().apply(0);
        }
        return below instanceof LogicalRelation && below.outputSet().equals(scan.outputSet());
    }

    /** Throws Refused, naming the scan, where they cannot. */
    static void check(LogicalRelation scan, HadoopFsRelation relation) {
        FileFormat format = relation.fileFormat();
        String name = "Scan " + format;
        boolean text = format.getClass() == CSVFileFormat.class || format.getClass() == TextFileFormat.class;
        if (format.getClass() != ParquetFileFormat.class && !text) {
            throw new Refused(name, "records of this format are not numbered yet");
        }
        if (scan.isStreaming()) {
            throw new Refused(name, "streams are not captured yet");
        }
        if (scan.output().size() != relation.schema().length()) {
            throw new Refused(name, "a query that reads the hidden column _metadata is not captured yet");
        }
        List output = Scala.list(scan.output());
        for (int i = 0; i < output.size(); i++) {
            String column = ((AttributeReference) output.get(i)).name();
            if (column.startsWith("_headwater_") || column.equals("_tmp_metadata_row_index")) {
                throw new Refused(name, "a column is called " + column);
            }
        }
        if (text) {
            checkText(name, options(relation));
            checkFiles(name, relation.location().inputFiles());
        }
    }

    private static void checkText(String name, Map options) {
        if ("true".equalsIgnoreCase((String) options.get("multiline"))) {
            throw new Refused(name, "records of a file read with multiLine are not lines, and cannot be found again by their number");
        }
        if ("true".equalsIgnoreCase((String) options.get("wholetext"))) {
            throw new Refused(name, "with wholetext a record is a file");
        }
        if ("dropmalformed".equalsIgnoreCase((String) options.get("mode"))) {
            throw new Refused(name, "with mode DROPMALFORMED the records that count depend on the columns that are read");
        }
        String encoding = (String) options.get("encoding");
        encoding = encoding == null ? (String) options.get("charset") : encoding;
        if (encoding != null && !endsLinesAsAscii(encoding)) {
            throw new Refused(name, "lines of a file in the encoding " + encoding + " do not end as lines of ASCII do");
        }
        String separator = (String) options.get("linesep");
        if (separator != null && !separator.equals("\n")) {
            throw new Refused(name, "a line separator of one's own is not understood yet");
        }
    }

    private static boolean endsLinesAsAscii(String encoding) {
        byte[] bytes = "\r\n #".getBytes(Charset.forName(encoding));
        return java.util.Arrays.equals(bytes, "\r\n #".getBytes(StandardCharsets.US_ASCII));
    }

    private static void checkFiles(String name, String[] files) {
        for (int i = 0; i < files.length; i++) {
            if (files[i].endsWith(".bz2")) {
                throw new Refused(name, "a file compressed by bzip2 is split where no line can be told");
            }
        }
    }

    /** The reader's options, names in lower case. */
    public static Map options(HadoopFsRelation relation) {
        Map result = new HashMap();
        Iterator entries = Scala.map(relation.options()).entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            result.put(String.valueOf(entry.getKey()).toLowerCase(Locale.ROOT), String.valueOf(entry.getValue()));
        }
        return result;
    }

    /** No split of a file is smaller (FilePartition.maxSplitBytes), the last of a file apart. */
    public static long unit(HadoopFsRelation relation) {
        SQLConf conf = SQLConf.get();
        return Math.max(1L, Math.min(conf.filesMaxPartitionBytes(), conf.filesOpenCostInBytes()));
    }
}
