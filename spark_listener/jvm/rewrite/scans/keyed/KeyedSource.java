package headwater.rewrite.scans.keyed;

import headwater.rewrite.core.Rewriter;
import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.types.DataTypes;

/** A kind of source with a value that identifies each record. Spark reads or can read the column of that value. */
public abstract class KeyedSource {
    private static final KeyedSource[] ALL = new KeyedSource[] {new JdbcRows(), new KafkaRecords()};

    /** Null: none of these reads a relation. */
    public static KeyedSource of(BaseRelation relation) {
        for (KeyedSource source : ALL) {
            if (source.is(relation)) {
                return source;
            }
        }
        return null;
    }

    abstract boolean is(BaseRelation relation);

    /** Throws Refused, by name, where the records of a scan have no such value. */
    public abstract Keyed keyed(LogicalRelation scan, int operator, Rewriter rewriter);

    static Attribute column(LogicalRelation scan, String name) {
        for (Attribute column : Scala.list(scan.output())) {
            if (column.name().equals(name)) {
                return column;
            }
        }
        return null;
    }

    static Expression wide(Expression value) {
        return Cast$.MODULE$.apply(value, DataTypes.LongType, false);
    }
}
