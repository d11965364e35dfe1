package headwater.rewrite.scans.formats;

import headwater.rewrite.core.Refused;
import headwater.rewrite.delta.TableCommit;
import headwater.shim.Scala;
import headwater.source.NumberedDelta;
import headwater.source.NumberedParquet;
import headwater.source.SourceFiles;
import headwater.tap.Reports;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Delta: rows of Parquet files, by row index. A file's deletion vector marks rows that the table no longer contains,
 * and Delta filters by the mark when it plans a scan. Delta recognizes its scans by class, and our scan has another
 * class, so the filter is added here.
 *
 * Delta's classes may be absent, so they are accessed by name.
 */
final class DeltaRecords extends RecordFormat {
    private static final String FORMAT = "org.apache.spark.sql.delta.DeltaParquetFileFormat";
    private static final String MARKS = "org.apache.spark.sql.delta.ScanWithDeletionVectors";
    private static final List<?> LISTS = Arrays.asList("PreparedDeltaFileIndex", "TahoeLogFileIndex", "TahoeBatchFileIndex");

    public boolean is(FileFormat format) {
        return format.getClass().getName().equals(FORMAT);
    }

    public boolean writes(FileFormat format) {
        return false; // never by the command that writes plain files
    }

    public void check(String scan, HadoopFsRelation relation, Map<String, String> options) {
        Refused.untried(scan, "Delta");
        if (!LISTS.contains(relation.location().getClass().getSimpleName())) {
            throw new Refused(scan, "which rows of a Delta table " + relation.location().getClass().getSimpleName() + " gives is not understood");
        }
        StructField[] fields = relation.schema().fields();
        for (StructField field : fields) {
            if (field.name().startsWith("__delta_internal_")) {
                throw new Refused(scan, "a column is called " + field.name());
            }
        }
    }

    public boolean countsWholeFiles() {
        return true;
    }

    public boolean readsMetadata() {
        return true; // tables with row tracking: commands that change them read the numbers of rows
    }

    public String column() {
        return NumberedParquet.ROW_INDEX;
    }

    public String ordinal() {
        return NumberedDelta.INTERNAL;
    }

    public FileFormat numbered(HadoopFsRelation relation, SourceFiles files, Reports reports, boolean splits) {
        return new NumberedDelta((ParquetFileFormat) relation.fileFormat(), files.number, reports);
    }

    /** Delta's own method plans a scan with marks, so Delta decides which files have any. */
    public DeletionMarks marks(LogicalRelation scan, HadoopFsRelation relation) {
        Object planned = Scala.orNull((scala.Option<?>) marked(scan, relation));
        if (planned == null) {
            return null;
        }
        Filter filter = (Filter) ((Project) planned).child();
        LogicalRelation reads = (LogicalRelation) filter.child();
        for (Attribute column : Scala.list(reads.output())) {
            if (column.name().equals(NumberedDelta.MARK)) {
                return new DeletionMarks(((HadoopFsRelation) reads.relation()).fileFormat(), column, filter.condition());
            }
        }
        throw new Refused("Scan Delta", "how this version of Delta leaves out deleted rows is not understood");
    }

    private static Object marked(LogicalRelation scan, HadoopFsRelation relation) {
        Throwable cause;
        try {
            Class<?> type = relation.fileFormat().getClass().getClassLoader().loadClass(MARKS + "$");
            Object module = type.getField("MODULE$").get(null);
            Method[] methods = type.getMethods();
            for (Method method : methods) {
                if (method.getName().equals("dvEnabledScanFor")) {
                    return method.invoke(module, scan, relation, relation.fileFormat(), relation.location());
                }
            }
            cause = new NoSuchMethodException("dvEnabledScanFor");
        } catch (InvocationTargetException thrown) {
            cause = thrown.getCause();
        } catch (Throwable unknown) {
            cause = unknown;
        }
        throw new Refused("Scan Delta", "how this version of Delta leaves out deleted rows is not understood: " + cause);
    }

    /** The names that the columns have in the files, where Delta maps them (column mapping); nested ones by their path. */
    public void addRelation(Map<String, Object> options, HadoopFsRelation relation) {
        Object mode = accessor(relation.fileFormat(), "columnMappingMode");
        Object name = mode == null ? null : accessor(mode, "name");
        Object schema = accessor(relation.fileFormat(), "referenceSchema");
        TableCommit.addNames(options, String.valueOf(name), schema instanceof StructType struct ? struct : null);
    }

    private static Object accessor(Object of, String name) {
        try {
            Method method = of.getClass().getMethod(name);
            method.setAccessible(true); // of a public method of a class that is not
            return method.invoke(of);
        } catch (ReflectiveOperationException other) {
            return null; // another version of Delta
        }
    }
}
