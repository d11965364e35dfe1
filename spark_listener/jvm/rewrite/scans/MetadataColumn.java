package headwater.rewrite.scans;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FileSourceMetadataAttribute;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.StructType;

/** The hidden column `_metadata` of a scan of files with details from Spark or a table format of each record. */
final class MetadataColumn {
    private static final String ROW_INDEX = "row_index";

    private MetadataColumn() {}

    /** Null where the query does not read it. */
    static Attribute of(LogicalRelation scan) {
        for (AttributeReference reference : Scala.list(scan.output())) {
            if (FileSourceMetadataAttribute.unapply(reference).isDefined()) {
                return reference;
            }
        }
        return null;
    }

    /**
     * The row index that the query reads, or null. A scan can fill one column of row indexes only, so a second one
     * would stay empty.
     */
    static Expression rowIndex(LogicalRelation scan) {
        Attribute metadata = of(scan);
        if (metadata == null || !(metadata.dataType() instanceof StructType fields)) {
            return null;
        }
        return fields.getFieldIndex(ROW_INDEX).isDefined()
            ? new GetStructField(metadata, fields.fieldIndex(ROW_INDEX), Scala.some(ROW_INDEX)) : null;
    }
}
