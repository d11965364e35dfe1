package headwater.shim;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Scala's collections for Java. Only this class depends on the version of Scala, which is 2.13. */
public final class Scala {
    private Scala() {}

    /** Copy a list to an immutable sequence. */
    public static <T> Seq<T> seq(List<? extends T> values) {
        return CollectionConverters.asScala(new ArrayList<T>(values)).toSeq();
    }

    /** A sequence of one element. */
    public static <T> Seq<T> seq(T value) {
        return seq(new ArrayList<T>(java.util.Collections.singletonList(value)));
    }

    public static <T> Seq<T> empty() {
        return seq(new ArrayList<T>());
    }

    /** Copy a Scala collection to a list that the caller may change. */
    public static <T> List<T> list(scala.collection.Iterable<? extends T> values) {
        List<T> result = new ArrayList<>();
        for (scala.collection.Iterator<? extends T> iterator = values.iterator(); iterator.hasNext(); ) {
            result.add(iterator.next());
        }
        return result;
    }

    public static <T> scala.collection.immutable.Set<T> set(Set<? extends T> values) {
        return CollectionConverters.asScala(new HashSet<T>(values)).toSet();
    }

    public static <T> T orNull(Option<? extends T> option) {
        return option.isDefined() ? option.get() : null;
    }

    /** An option with the value, or an empty option for null. */
    public static <T> Option<T> some(T value) {
        return Option.apply(value);
    }

    public static <T> Option<T> none() {
        return Option.empty();
    }

    public static <K, V> scala.collection.immutable.Map<K, V> texts(Map<K, V> values) {
        return scala.collection.immutable.Map.from(CollectionConverters.asScala(new HashMap<>(values)));
    }

    /** Copy a Scala map to a Java map with the same order. */
    public static <K, V> Map<K, V> map(scala.collection.Map<K, V> values) {
        Map<K, V> result = new LinkedHashMap<>();
        for (scala.collection.Iterator<scala.Tuple2<K, V>> iterator = values.iterator(); iterator.hasNext(); ) {
            scala.Tuple2<K, V> entry = iterator.next();
            result.put(entry._1(), entry._2());
        }
        return result;
    }

    /**
     * The same sequence with a supertype of its elements. Scala's sequences are covariant, but Java's type system does
     * not express that.
     */
    @SuppressWarnings("unchecked")
    public static <T> Seq<T> widened(Seq<? extends T> elements) {
        return (Seq<T>) elements;
    }

    /** Spark passes batches through iterators of rows. Whoever reads such an iterator looks at the class of each element. */
    @SuppressWarnings("unchecked")
    public static scala.collection.Iterator<InternalRow> batches(scala.collection.Iterator<?> rowsOrBatches) {
        return (scala.collection.Iterator<InternalRow>) rowsOrBatches;
    }
}
