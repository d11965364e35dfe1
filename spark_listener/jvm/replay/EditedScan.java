package headwater.replay;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A scan with changed values in some records. Spark casts each new value from its text, and refuses text that does not
 * fit the type.
 */
final class EditedScan {
    private final Map<String, Map<String, Set<Long>>> values = new TreeMap<>(); // column -> Map: text (null as "n", else "v" + text) -> Set of references

    void add(long reference, Map<String, String> row) {
        for (Map.Entry<String, String> entry : row.entrySet()) {
            Map<String, Set<Long>> texts = values.get(entry.getKey());
            if (texts == null) {
                texts = new TreeMap<>();
                values.put(entry.getKey(), texts);
            }
            String text = entry.getValue() == null ? "n" : "v" + entry.getValue();
            Set<Long> references = texts.get(text);
            if (references == null) {
                references = new HashSet<>();
                texts.put(text, references);
            }
            references.add(reference);
        }
    }

    /** `plan` reads the same columns as `scanOutput` under ids of its own: `output`. The result has the ids of `scanOutput`, and the reference. */
    LogicalPlan over(LogicalPlan plan, Attribute reference, List<Attribute> output, List<Attribute> scanOutput, List<?> dataColumns) {
        for (Object name : values.keySet()) {
            if (!dataColumns.contains(name)) {
                throw new IllegalStateException("Replay cannot edit the column " + name + ": the files have the columns " + dataColumns + ".");
            }
        }
        List<NamedExpression> columns = new ArrayList<>();
        for (int i = 0; i < output.size(); i++) {
            Attribute was = scanOutput.get(i);
            Attribute read = output.get(i);
            Map<String, Set<Long>> texts = values.get(was.name());
            Expression value = read;
            for (Map.Entry<String, Set<Long>> entry : texts == null ? Map.<String, Set<Long>>of().entrySet() : texts.entrySet()) {
                Expression edited = constant(entry.getKey(), read.dataType());
                value = new If(new InSet(reference, Scala.set(entry.getValue())), edited, value);
            }
            columns.add(new Alias(value, was.name(), was.exprId(), was.qualifier(), Scala.none(), Scala.empty()));
        }
        columns.add(reference);
        return new Project(Scala.seq(columns), plan);
    }

    private static Expression constant(String text, DataType type) {
        if (text.equals("n")) {
            return new Literal(null, type);
        }
        Literal literal = new Literal(UTF8String.fromString(text.substring(1)), DataTypes.StringType);
        if (type instanceof StringType) {
            return literal;
        }
        Cast cast = Cast$.MODULE$.apply(literal, type, true); // ANSI: text of another kind ends the program
        return (Expression) cast.withTimeZone(SQLConf.get().sessionLocalTimeZone());
    }
}
