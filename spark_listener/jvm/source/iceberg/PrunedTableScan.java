package headwater.source.iceberg;

import headwater.source.SourceFiles;
import headwater.tap.Reports;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;

/** A scan that skips the files that a join above excludes while the query runs. */
final class PrunedTableScan extends NumberedTableScan implements SupportsRuntimeV2Filtering {
    PrunedTableScan(Scan original, SourceFiles files, Reports reports, Configuration conf) {
        super(original, files, reports, conf);
    }

    public NamedReference[] filterAttributes() {
        return ((SupportsRuntimeV2Filtering) original).filterAttributes();
    }

    public void filter(Predicate[] predicates) {
        ((SupportsRuntimeV2Filtering) original).filter(predicates);
    }
}
