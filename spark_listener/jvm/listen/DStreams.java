package headwater.listen;

import headwater.describe.LoadedFiles;
import headwater.shim.Accessors;
import headwater.shim.Parts;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import java.lang.reflect.Array;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * The output operations of DStreams, Spark's older kind of streams. Each is reported as a streaming query with its
 * sources and batches. The classes are accessed by name, because a program need not have this part of Spark. Only the
 * thread of the listener bus uses it.
 */
final class DStreams {
    static final String OPERATION = "spark.streaming.internal.outputOpId"; // a property of the jobs of a batch

    private static final String SCHEDULER = "org.apache.spark.streaming.scheduler.";
    private static final String WRAPPED = SCHEDULER + "StreamingListenerBus$WrappedStreamingListenerEvent";
    private static final int MOST = 100; // operations, and inputs of one

    private final Configuration conf;
    private final List<DStreams.Operation> running = new ArrayList<>(); // by their numbers
    private int contexts;

    DStreams(Configuration conf) {
        this.conf = conf;
    }

    /** Our events (Described) for an event of Spark about such streams. */
    List<DStreams.OfStream> described(SparkListenerEvent event) {
        List<DStreams.OfStream> result = new ArrayList<>();
        if (!event.getClass().getName().equals(WRAPPED)) {
            return result;
        }
        Object inner = Accessors.get(event, "streamingListenerEvent");
        String name = inner == null ? "" : inner.getClass().getName();
        if (name.equals(SCHEDULER + "StreamingListenerStreamingStarted")) {
            started(((Long) Accessors.get(inner, "time")), result);
        } else if (name.equals(SCHEDULER + "StreamingListenerBatchCompleted")) {
            batch(Accessors.get(inner, "batchInfo"), result);
        }
        return result;
    }

    private void started(long time, List<DStreams.OfStream> result) {
        for (int i = 0; i < running.size(); i++) { // a program has one context at a time
            Map<String, Object> end = of("stream_end", running.get(i));
            end.put("time", time);
            end.put("error", null);
            result.add(new OfStream(end));
        }
        running.clear();
        contexts++;
        Object outputs = Accessors.get(graph(), "getOutputStreams");
        int count = outputs == null ? 0 : Math.min(Array.getLength(outputs), MOST);
        Set<String> paces = new HashSet<>();
        List<Object> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            paces.add(String.valueOf(Accessors.get(Array.get(outputs, i), "slideDuration")));
            all.add(Array.get(outputs, i));
        }
        boolean isOne = paces.size() > 1; // Spark numbers the operations of each batch anew, and which has no part in it is not said
        for (int i = 0; i < (isOne ? 1 : count); i++) {
            List<Object> from = new ArrayList<>();
            from.add(Array.get(outputs, i));
            Operation operation = new Operation("dstream " + contexts + "." + i, isOne ? "outputs" : "output_" + i, inputs(isOne ? all : from));
            running.add(operation);
            Map<String, Object> start = of("stream_start", operation);
            start.put("name", operation.name);
            start.put("time", Instant.ofEpochMilli(time).toString());
            start.put("sink", "");
            start.put("ends", false);
            start.put("sources", sources(operation, null, null));
            result.add(new OfStream(start));
        }
    }

    private void batch(Object info, List<DStreams.OfStream> result) {
        Map<Number, Object> operations = Scala.map(Untyped.value(Accessors.get(info, "outputOperationInfos")));
        Map<?, Object> counted = Scala.map(Untyped.value(Accessors.get(info, "streamIdToInputInfo")));
        long time = ((Long) Accessors.get(Accessors.get(info, "batchTime"), "milliseconds"));
        for (Map.Entry<Number, Object> entry : operations.entrySet()) {
            int number = running.size() == 1 ? 0 : entry.getKey().intValue();
            if (number < 0 || number >= running.size()) {
                continue;
            }
            Operation operation = running.get(number);
            Map<String, Object> progress = of("stream_progress", operation);
            progress.put("batch", time);
            progress.put("sink", null);
            progress.put("written", null);
            progress.put("sources", sources(operation, String.valueOf(time), counted));
            progress.put("failed", Scala.orNull((scala.Option<?>) Accessors.get(entry.getValue(), "failureReason")));
            result.add(new OfStream(progress));
        }
    }

    private static Map<String, Object> of(String event, Operation operation) {
        return Parts.of("event", event, "run", operation.key, "parts", true);
    }

    /** The sources up to the time of a batch. Null if there was none yet. Spark counts no rows of files. */
    private static List<Map<String, Object>> sources(Operation operation, String time, Map<?, Object> counted) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (Map.Entry<Object, String> input : operation.inputs.entrySet()) {
            Object info = counted == null ? null : counted.get(input.getKey());
            Object rows = info == null ? null : Accessors.get(info, "numRecords");
            Map<String, Object> source = Parts.of("source", input.getValue(), "offset", time);
            if (counted != null) {
                source.put("rows", rows instanceof Long number && number > 0L ? rows : null);
            }
            result.add(source);
        }
        return result;
    }

    /** The inputs that some streams are made of: a description by the number of each. */
    private Map<Object, String> inputs(List<Object> streams) {
        Map<Object, String> result = new LinkedHashMap<>();
        Set<Integer> seen = new HashSet<>();
        ArrayDeque<Object> waiting = new ArrayDeque<>(streams);
        while (!waiting.isEmpty() && result.size() < MOST) {
            Object stream = waiting.poll();
            if (!seen.add(System.identityHashCode(stream))) {
                continue;
            }
            List<Object> parents = Scala.list((scala.collection.Iterable<?>) Accessors.get(stream, "dependencies"));
            waiting.addAll(parents);
            if (parents.isEmpty()) {
                Object number = Accessors.get(stream, "id");
                result.put(number == null ? "input " + result.size() : number, described(stream));
            }
        }
        return result;
    }

    /** As Spark's newer streams call theirs. */
    private String described(Object input) {
        String kind = input.getClass().getSimpleName();
        if (kind.equals("FileInputDStream")) {
            try {
                Path folder = (Path) Accessors.get(input, "directoryPath");
                Path whole = folder.getFileSystem(conf).makeQualified(folder);
                return "FileStreamSource[" + LoadedFiles.withoutWildcards(whole) + "]";
            } catch (Exception unknown) { // its store cannot be asked
                return kind;
            }
        }
        Object host = kind.equals("SocketInputDStream") ? Accessors.field(input, "host") : null;
        return host == null ? kind : kind + "[" + host + ":" + Accessors.field(input, "port") + "]";
    }

    private static Object graph() {
        try {
            ClassLoader loader = Thread.currentThread().getContextClassLoader();
            Class<?> type = Class.forName("org.apache.spark.streaming.StreamingContext", true, loader);
            Object active = type.getMethod("getActive").invoke(null);
            return Accessors.get(Scala.orNull((scala.Option<?>) active), "graph");
        } catch (Throwable none) {
            return null;
        }
    }

    /** One output operation, and what it reads. */
    private static final class Operation {
        final String key;
        final String name;
        final Map<Object, String> inputs;

        Operation(String key, String name, Map<Object, String> inputs) {
            this.key = key;
            this.name = name;
            this.inputs = inputs;
        }
    }

    /** An event that is described already. */
    record OfStream(Map<String, Object> event) implements Described {
        public Map<String, Object> describe() {
            return event;
        }
    }
}
