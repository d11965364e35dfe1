package headwater.rewrite.scans;

import headwater.rewrite.core.Refused;
import headwater.rewrite.scans.formats.RecordFormat;
import headwater.rewrite.scans.formats.RecordFormats;
import headwater.shim.Accessors;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.execution.datasources.v2.FileTable;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Turns scans of files by Spark's second interface (DataSourceV2) into scans by the first, which read the same records
 * of the same splits and can be numbered. A scan that pushes more than filters down, or reads a part of a nested
 * column, has no such form.
 */
public final class FileScans {
    private static final String[] NO_OPTIONS = {"path", "paths"}; // which files: the list of them says it

    private FileScans() {}

    public static boolean is(DataSourceV2ScanRelation leaf) {
        return leaf.scan() instanceof FileScan && table(leaf) instanceof FileTable;
    }

    /** The scan that reads all columns of the same files. Equal leaves give equal scans. Throws Refused if there is none. */
    public static LogicalRelation first(DataSourceV2ScanRelation leaf) {
        String name = leaf.nodeName();
        FileTable table = (FileTable) table(leaf);
        FileScan scan = (FileScan) leaf.scan();
        Object session = Accessors.get(table, "sparkSession");
        if (!(session instanceof SparkSession sparkSession)) {
            throw new Refused(name, "the session of its reader is not known");
        }
        HadoopFsRelation relation = Nodes.relation(
            scan.fileIndex(), table.fileIndex().partitionSchema(), table.dataSchema(), format(name, table), options(name, table), sparkSession);
        List<Attribute> columns = Scala.list(leaf.relation().output());
        StructField[] fields = relation.schema().fields();
        boolean same = columns.size() == fields.length;
        for (int i = 0; same && i < fields.length; i++) {
            Attribute column = columns.get(i);
            same = column.name().equals(fields[i].name()) && column.dataType().equals(fields[i].dataType());
        }
        if (!same) {
            throw new Refused(name, "a column of its folders is also one of its files");
        }
        return Nodes.scan(relation, leaf.relation().output());
    }

    /** The format of such a scan. Throws Refused, naming it, where its rows are not records, or these cannot be numbered. */
    public static RecordFormat check(DataSourceV2ScanRelation leaf, LogicalRelation first, HadoopFsRelation relation) {
        String name = leaf.nodeName();
        AttributeSet all = first.outputSet();
        Map<ExprId, DataType> types = new HashMap<>();
        for (Attribute attribute : Scala.list(first.output())) {
            types.put(attribute.exprId(), attribute.dataType());
        }
        for (Attribute column : Scala.list(leaf.output())) {
            if (!all.contains(column)) {
                throw new Refused(name, "the reader was asked for aggregates, or for columns that are not in the files");
            }
            if (!column.dataType().equals(types.get(column.exprId()))) {
                throw new Refused(name, "a part of a nested column is read (spark.sql.optimizer.nestedSchemaPruning.enabled)");
            }
        }
        RecordFormat format = ScanCheck.check(first, relation);
        boolean fails = "failfast".equalsIgnoreCase(RecordFormats.options(relation).get("mode"));
        if (fails && format.pushesFilters() && !((FileScan) leaf.scan()).dataFilters().isEmpty()) {
            throw new Refused(name, "with mode FAILFAST a filter decides which bad records fail the query");
        }
        return format;
    }

    /** The conditions over its folders, which nothing in the plan checks again. */
    public static List<Expression> partitionFilters(DataSourceV2ScanRelation leaf) {
        return Scala.list(((FileScan) leaf.scan()).partitionFilters());
    }

    private static Object table(DataSourceV2ScanRelation leaf) {
        return leaf.relation() instanceof DataSourceV2Relation ? leaf.relation().table() : null;
    }

    private static FileFormat format(String name, FileTable table) {
        try {
            return table.fallbackFileFormat().getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException none) {
            throw new Refused(name, "there is no reader of the first kind for this format");
        }
    }

    /** As the program wrote their names: readers of the first kind are given them so. */
    private static Map<String, String> options(String name, FileTable table) {
        Object stated = Accessors.get(table, "options");
        if (!(stated instanceof CaseInsensitiveStringMap caseInsensitiveStringMap)) {
            throw new Refused(name, "the options of its reader are not known");
        }
        Map<String, String> result = new HashMap<>(caseInsensitiveStringMap.asCaseSensitiveMap());
        for (String option : new ArrayList<>(result.keySet())) {
            for (String string : NO_OPTIONS) {
                if (option.equalsIgnoreCase(string)) {
                    result.remove(option);
                }
            }
        }
        return result;
    }
}
