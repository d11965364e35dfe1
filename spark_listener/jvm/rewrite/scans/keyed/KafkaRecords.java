package headwater.rewrite.scans.keyed;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Refused;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.sources.BaseRelation;

/** Records of topics of Kafka. */
final class KafkaRecords extends KeyedSource {
    boolean is(BaseRelation relation) {
        return relation.getClass().getName().equals("org.apache.spark.sql.kafka010.KafkaRelation");
    }

    public Keyed keyed(LogicalRelation scan, Capture capture) {
        throw new Refused("Kafka", "records of topics are not followed yet");
    }
}
