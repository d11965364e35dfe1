package headwater.shim;

import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Exists;
import org.apache.spark.sql.catalyst.expressions.LateralSubquery;
import org.apache.spark.sql.catalyst.expressions.ListQuery;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.python.EvaluatePython;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.Seq;

/** What is otherwise in other versions of Spark: 4.0. */
public final class Differences {
    private Differences() {}

    /** A reference to a common table expression with another output. */
    public static CTERelationRef reference(CTERelationRef of, Seq output) {
        return of.copy(
            of.cteId(), of._resolved(), output, of.isStreaming(), of.statsOpt(), of.recursive());
    }

    /** What a subquery reads of the row that it stands in. Of one that is not known, also what it is joined by. */
    public static List outerAttributes(SubqueryExpression of) {
        if (of instanceof ScalarSubquery) {
            return Scala.list(((ScalarSubquery) of).outerAttrs());
        }
        if (of instanceof Exists) {
            return Scala.list(((Exists) of).outerAttrs());
        }
        if (of instanceof ListQuery) {
            return Scala.list(((ListQuery) of).outerAttrs());
        }
        return of instanceof LateralSubquery ? Scala.list(((LateralSubquery) of).outerAttrs()) : Scala.list(of.children());
    }

    public static boolean supportsRead(FileFormat format, DataType type) {
        return format.supportDataType(type);
    }

    /** A value as Spark gives it to Python. */
    public static Object toPython(Object value, DataType type, boolean bytes) {
        return EvaluatePython.toJava(value, type);
    }

    /** Whether a session gives binary values to Python as `bytes`: a setting of later versions. */
    public static boolean givesBytes(SparkSession session) {
        return false;
    }
}
