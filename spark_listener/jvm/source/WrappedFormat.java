package headwater.source;

import headwater.shim.Differences;
import headwater.shim.Scala;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.OutputWriterFactory;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/** A file format that is like the original in all but its reader. */
abstract class WrappedFormat implements FileFormat, DataSourceRegister, java.io.Serializable {
    final FileFormat original;

    WrappedFormat(FileFormat original) {
        this.original = original;
    }

    public Option<StructType> inferSchema(SparkSession session, Map<String, String> options, Seq<FileStatus> statuses) {
        return original.inferSchema(session, options, statuses);
    }

    public OutputWriterFactory prepareWrite(SparkSession session, Job job, Map<String, String> options, StructType schema) {
        return original.prepareWrite(session, job, options, schema);
    }

    /** Generated code asks the columns through Spark's general class: one of them is ours. */
    public Option<Seq<String>> vectorTypes(StructType required, StructType partition, SQLConf conf) {
        return Scala.none();
    }

    public AttributeReference createFileMetadataCol() {
        return original.createFileMetadataCol();
    }

    public boolean supportDataType(DataType type) {
        return original.supportDataType(type);
    }

    public boolean supportReadDataType(DataType type) {
        return Differences.supportsRead(original, type);
    }

    public boolean supportFieldName(String name) {
        return original.supportFieldName(name);
    }

    public boolean allowDuplicatedColumnNames() {
        return original.allowDuplicatedColumnNames();
    }

    public Seq<StructField> metadataSchemaFields() {
        return original.metadataSchemaFields();
    }

    public Map<String, Function1<PartitionedFile, Object>> fileConstantMetadataExtractors() {
        return original.fileConstantMetadataExtractors();
    }

    public String shortName() {
        return original instanceof DataSourceRegister dataSourceRegister ? dataSourceRegister.shortName() : original.toString();
    }

    public int hashCode() {
        return original.getClass().hashCode();
    }

    public String toString() {
        return original.toString();
    }
}
