package headwater.rewrite.scans.keyed;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.sources.BaseRelation;

/**
 * The details of a topic before it is read: the number of its partitions, and its id, so that a trace recognizes the
 * topic. The client belongs to the program's connector, and its methods are called by name.
 */
record TopicLook(int partitions, String id) {
    private static final String NO_ID = "AAAAAAAAAAAAAAAAAAAAAA";

    /** A TopicLook, or a String with the reason if there is none. */
    static Object of(BaseRelation relation, final Map<String, String> parameters, final String topic) {
        final ClassLoader loader = relation.getClass().getClassLoader();
        return ShortQuestion.answer(String.valueOf(parameters.get("bootstrap.servers")), loader, () -> asked(loader, parameters, topic));
    }

    private static Object asked(ClassLoader loader, Map<String, String> parameters, String topic) throws Exception {
        Class<?> client = Class.forName("org.apache.kafka.clients.admin.Admin", true, loader);
        Map<String, Object> given = new HashMap<>(parameters);
        given.put("request.timeout.ms", ShortQuestion.milliseconds());
        given.put("default.api.timeout.ms", ShortQuestion.milliseconds());
        Object admin = client.getMethod("create", Map.class).invoke(null, given);
        try {
            Object result = client.getMethod("describeTopics", Collection.class).invoke(admin, new Object[] {Arrays.asList(new Object[] {topic})});
            Object all = call(result, "allTopicNames");
            Method get = method(all, "get", long.class, TimeUnit.class);
            Object found = ((Map<?, ?>) get.invoke(all, Long.valueOf(ShortQuestion.milliseconds()), TimeUnit.MILLISECONDS)).get(topic);
            String id = String.valueOf(call(found, "topicId"));
            return id.equals(NO_ID) ? (Object) "the brokers state no ids of topics" : new TopicLook(((Collection<?>) call(found, "partitions")).size(), id);
        } finally {
            client.getMethod("close", Duration.class).invoke(admin, Duration.ZERO);
        }
    }

    private static Object call(Object of, String name) throws Exception {
        return method(of, name).invoke(of);
    }

    private static Method method(Object of, String name, Class<?>... taken) throws Exception {
        Method found = of.getClass().getMethod(name, taken);
        found.setAccessible(true);
        return found;
    }
}
