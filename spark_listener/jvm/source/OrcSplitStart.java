package headwater.source;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.StripeInformation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.util.SerializableConfiguration;

/**
 * The rows of an ORC file before a split: those of the stripes that begin before it. The file's footer has the counts,
 * and is read for all splits but the first.
 */
public final class OrcSplitStart implements SplitStart {
    private final SerializableConfiguration conf;

    public OrcSplitStart(HadoopFsRelation relation) {
        this.conf = new SerializableConfiguration(relation.sparkSession().sessionState().newHadoopConfWithOptions(relation.options()));
    }

    public long of(PartitionedFile split) throws IOException {
        if (split.start() == 0L) {
            return 0L;
        }
        Configuration hadoop = conf.value();
        Reader reader = OrcFile.createReader(split.toPath(), OrcFile.readerOptions(hadoop));
        try {
            long rows = 0L;
            for (StripeInformation stripe : reader.getStripes()) {
                rows += stripe.getOffset() < split.start() ? stripe.getNumberOfRows() : 0L;
            }
            return rows;
        } finally {
            reader.close();
        }
    }
}
