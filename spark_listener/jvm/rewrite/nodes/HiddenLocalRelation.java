package headwater.rewrite.nodes;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import scala.Option;
import scala.collection.immutable.Seq;

/** A local relation with a hidden column that reports the original's statistics. */
public final class HiddenLocalRelation extends LocalRelation {
    private final LocalRelation original;

    public HiddenLocalRelation(Seq<Attribute> output, Seq<InternalRow> data, boolean streaming, Option<SparkDataStream> stream, LocalRelation original) {
        super(output, data, streaming, stream);
        this.original = original;
    }

    public Statistics stats() {
        return original.stats();
    }

    public Seq<Object> otherCopyArgs() {
        return Scala.seq(original); // TreeNode copies by calling the constructor with these after the product's elements
    }

    public String nodeName() {
        return "LocalRelation";
    }
}
