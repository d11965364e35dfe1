package headwater.shim;

import java.util.ArrayList;
import java.util.List;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Scala's collections from Java. The one place that knows which Scala runs (2.13 here): a Spark built with 2.12 gets another file of
 * this name.
 */
public final class Scala {
    private Scala() {}

    /** An immutable sequence of what the list holds now. */
    public static Seq seq(List values) {
        return CollectionConverters.asScala(new ArrayList(values)).toSeq();
    }

    public static Seq seq(Object value) {
        ArrayList values = new ArrayList();
        values.add(value);
        return seq((List) values);
    }

    public static Seq empty() {
        return seq((List) new ArrayList());
    }

    /** What a Scala collection holds, in its order. */
    public static List list(scala.collection.Iterable values) {
        ArrayList result = new ArrayList();
        Iterator iterator = values.iterator();
        while (iterator.hasNext()) {
            result.add(iterator.next());
        }
        return result;
    }

    /** An immutable set of what the set holds now. */
    public static scala.collection.immutable.Set set(java.util.Set values) {
        return CollectionConverters.asScala(new java.util.HashSet(values)).toSet();
    }

    /** The value, or null where there is none. */
    public static Object orNull(Option option) {
        return option.isDefined() ? option.get() : null;
    }

    public static Option some(Object value) {
        return scala.Option$.MODULE$.apply(value);
    }

    public static Option none() {
        return scala.Option$.MODULE$.empty();
    }

    /** An immutable map of what the map holds now. */
    public static scala.collection.immutable.Map texts(java.util.Map values) {
        return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(new java.util.HashMap(values)));
    }

    /** A Scala map of texts as a Java map, in its order. */
    public static java.util.Map map(scala.collection.Map values) {
        java.util.LinkedHashMap result = new java.util.LinkedHashMap();
        Iterator iterator = values.iterator();
        while (iterator.hasNext()) {
            scala.Tuple2 entry = (scala.Tuple2) iterator.next();
            result.put(entry._1(), entry._2());
        }
        return result;
    }

    /** The same sequence with elements of a supertype, as Scala's sequences are covariant and Java does not know it. */
    @SuppressWarnings("unchecked")
    public static <T> Seq<T> widened(Seq<? extends T> elements) {
        return (Seq<T>) elements;
    }
}
