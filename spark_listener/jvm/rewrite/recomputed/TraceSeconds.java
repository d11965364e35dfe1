package headwater.rewrite.recomputed;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.StructField;

/**
 * The estimated time of a trace that finds the records of one key again, by the sizes that Spark knows without opening
 * a file. The trace reads some columns of every scan, and joins all rows of several scans. The estimate assumes that
 * the key excludes no rows.
 */
final class TraceSeconds {
    private static final double BYTES_A_SECOND = 150.0e6; // of compressed columns, read and compared on two cores
    private static final double ROWS_A_SECOND = 25.0e6; // joined
    private static final double COMPRESSED = 1.0 / 3.0; // the share that a row has in a file of what Spark assumes of its types

    private TraceSeconds() {}

    static double of(List<LogicalPlan> scans, Set<Expression> columns) {
        double result = 0.0;
        for (int i = 0; i < scans.size(); i++) {
            LogicalRelation scan = (LogicalRelation) scans.get(i);
            HadoopFsRelation relation = (HadoopFsRelation) scan.relation();
            result += relation.location().sizeInBytes() * share(names(columns, scan), relation) / BYTES_A_SECOND;
            result += scans.size() > 1 ? rows(relation) / ROWS_A_SECOND : 0.0;
        }
        return result;
    }

    /** The names of the columns that a scan has. */
    private static Set<String> names(Set<Expression> columns, LogicalRelation scan) {
        Set<String> names = new HashSet<>();
        for (Expression expression : columns) {
            Attribute column = (Attribute) expression;
            if (scan.outputSet().contains(column)) { // by its id: what is known of a column's nulls differs from place to place
                names.add(column.name());
            }
        }
        return names;
    }

    /** The share of a relation's bytes that some of its columns have, by the sizes that Spark assumes of types. */
    private static double share(Set<String> columns, HadoopFsRelation relation) {
        double all = 0.0;
        double read = 0.0;
        StructField[] fields = relation.dataSchema().fields();
        for (StructField field : fields) {
            int size = field.dataType().defaultSize();
            all += size;
            read += columns.contains(field.name()) ? size : 0;
        }
        return all == 0.0 ? 1.0 : read / all;
    }

    /** An upper bound for the rows of a relation. */
    private static double rows(HadoopFsRelation relation) {
        return relation.location().sizeInBytes() / (COMPRESSED * Math.max(1, relation.dataSchema().defaultSize()));
    }
}
