package headwater.rewrite.scans.keyed;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.shim.Parts;
import headwater.shim.Scala;
import headwater.tap.TaskFault;
import headwater.tap.TopicOffset;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.sources.BaseRelation;

/** Records of a topic of Kafka, by partition and offset, which Spark reads with every record. */
final class KafkaRecords extends KeyedSource {
    private static final String NAME = "Kafka";
    private static final int MOST = 1 << 12; // partitions of a topic, all of which the manifest lists

    boolean is(BaseRelation relation) {
        return relation.getClass().getName().equals("org.apache.spark.sql.kafka010.KafkaRelation");
    }

    public Keyed keyed(LogicalRelation scan, int operator, Rewriter rewriter) {
        Refused.untried(NAME, "Kafka");
        Capture capture = rewriter.capture;
        if (scan.isStreaming()) {
            throw new Refused(NAME, "streams are not captured yet");
        }
        Attribute partition = column(scan, "partition");
        Attribute offset = column(scan, "offset");
        if (partition == null || offset == null) {
            throw new Refused(NAME, "partition and offset are none of the columns that are read");
        }
        BaseRelation relation = scan.relation();
        String topic = topic(map(relation, "sourceOptions"));
        Object look = capture.topics.get(relation);
        if (look == null) {
            look = TopicLook.of(relation, map(relation, "specifiedKafkaParams"), topic);
            capture.topics.put(relation, look);
        }
        if (!(look instanceof TopicLook known)) {
            throw new Refused(NAME, "the partitions of the topic are not known (" + look + "): its lineage is by dataset");
        }
        if (known.partitions() > MOST) {
            throw new Refused(NAME, "the topic has more than " + MOST + " partitions: its lineage is by dataset");
        }
        TaskFault met = new TaskFault(NAME, "a record is of a partition that was made since, or has an offset beyond 2^40, which no reference holds", capture.reports);
        List<Attribute> place = new ArrayList<>();
        place.add(partition);
        place.add(offset);
        Expression reference = new TopicOffset(Scala.seq(place), known.partitions(), met);
        return new Keyed(reference, described(known));
    }

    /** The one topic that is read. */
    private static String topic(Map<String, String> options) {
        String listed = options.get("subscribe");
        if (listed == null) {
            throw new Refused(NAME, "which topics a pattern or an assignment of partitions means is not followed: its lineage is by dataset");
        }
        if (listed.indexOf(',') >= 0) {
            throw new Refused(NAME, "several topics are read at once: their lineage is by dataset");
        }
        return listed.trim();
    }

    private static Map<String, Object> described(TopicLook look) {
        List<Map<String, Object>> files = new ArrayList<>();
        for (int partition = 0; partition < look.partitions(); partition++) {
            Map<String, Object> file = Parts.of(
                "ordinal", partition, "within", look.id() + "/" + partition, "length", 0L, "modified", 0L);
            files.add(file);
        }
        return Parts.of("options", new LinkedHashMap<>(), "files", files, "splits", new ArrayList<>());
    }

    /** Options that a relation of the connector's keeps in a field, by their names in lower case; none where it has no such field. */
    private static Map<String, String> map(BaseRelation relation, String name) {
        Map<String, String> found = new LinkedHashMap<>();
        try {
            Field field = relation.getClass().getDeclaredField(name);
            field.setAccessible(true);
            for (Map.Entry<?, ?> entry : Scala.map((scala.collection.immutable.Map<?, ?>) field.get(relation)).entrySet()) {
                found.put(String.valueOf(entry.getKey()).toLowerCase(Locale.ROOT), String.valueOf(entry.getValue()));
            }
        } catch (Exception unreadable) {
            return new LinkedHashMap<>();
        }
        return found;
    }
}
