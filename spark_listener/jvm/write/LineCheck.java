package headwater.write;

import headwater.shim.Scala;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Whether the records of a text file are its lines, so that the n-th record written is the n-th that a reader counts. A line break within
 * a value breaks that, and so does a row of one null column, which Spark's CSV writer leaves out. Costs a look at each text.
 */
final class LineCheck implements Serializable {
    private static final UTF8String FEED = UTF8String.fromString("\n");
    private static final UTF8String RETURN = UTF8String.fromString("\r");

    private final int[] texts; // ordinals of columns that hold text
    private final boolean nullIsNothing;
    private final boolean emptyIsNothing;

    private LineCheck(int[] texts, boolean nullIsNothing, boolean emptyIsNothing) {
        this.texts = texts;
        this.nullIsNothing = nullIsNothing;
        this.emptyIsNothing = emptyIsNothing;
    }

    /** Null where the format needs no check. */
    static LineCheck of(InsertIntoHadoopFsRelationCommand command) {
        boolean csv = command.fileFormat().getClass() == CSVFileFormat.class;
        if (!csv && command.fileFormat().getClass() != TextFileFormat.class) {
            return null;
        }
        List partition = Scala.list(command.partitionColumns());
        List output = Scala.list(command.query().output());
        List ordinals = new ArrayList();
        int columns = 0;
        for (int i = 0; i < output.size(); i++) {
            Attribute column = (Attribute) output.get(i);
            boolean data = true;
            for (int j = 0; j < partition.size(); j++) {
                data &= !((Attribute) partition.get(j)).exprId().equals(column.exprId());
            }
            if (data && column.dataType() instanceof StringType) {
                ordinals.add(Integer.valueOf(columns));
            }
            columns += data ? 1 : 0;
        }
        int[] texts = new int[ordinals.size()];
        for (int i = 0; i < texts.length; i++) {
            texts[i] = ((Integer) ordinals.get(i)).intValue();
        }
        boolean one = csv && columns == 1;
        return new LineCheck(texts, one && option(command, "nullvalue", "").isEmpty(), one && option(command, "emptyvalue", "\"\"").isEmpty());
    }

    private static String option(InsertIntoHadoopFsRelationCommand command, String name, String otherwise) {
        Iterator options = Scala.map(command.options()).entrySet().iterator();
        while (options.hasNext()) {
            Map.Entry option = (Map.Entry) options.next();
            if (name.equalsIgnoreCase((String) option.getKey())) {
                return (String) option.getValue();
            }
        }
        return otherwise;
    }

    /** What is wrong with a row; null if it is one line. */
    String problem(InternalRow row) {
        if (nullIsNothing && row.isNullAt(0)) {
            return "a row of one null column is not written to CSV at all";
        }
        for (int i = 0; i < texts.length; i++) {
            if (row.isNullAt(texts[i])) {
                continue;
            }
            UTF8String text = row.getUTF8String(texts[i]);
            if (text.contains(FEED) || text.contains(RETURN)) {
                return "a value holds a line break, so that the file's records are not its lines";
            }
            if (emptyIsNothing && text.trim().numBytes() == 0) {
                return "a row of one empty column is not written to CSV at all";
            }
        }
        return null;
    }
}
