package headwater.replay;

import com.fasterxml.jackson.databind.ObjectMapper;
import headwater.shim.OwnExpression;
import headwater.shim.Scala;
import headwater.source.ChosenRecords;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.CatalystTypeConverters;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Chooses a few records of a scan like `AmongRecords`, and writes the values of each into a file, as a line of JSON. */
final class ShownRecords extends OwnExpression implements CodegenFallback {
    private final Expression reference;
    private final List<Expression> columns;
    private final List<String> names;
    private final ChosenRecords records;
    private final String file;
    private final int scan;

    static ShownRecords of(Attribute reference, List<Attribute> columns, ChosenRecords records, String folder, int scan) {
        List<String> names = new ArrayList<>();
        for (Attribute column : columns) {
            names.add(column.name());
        }
        return new ShownRecords(reference, new ArrayList<>(columns), names, records, folder + "/values-" + scan, scan);
    }

    private ShownRecords(Expression reference, List<Expression> columns, List<String> names, ChosenRecords records, String file, int scan) {
        this.reference = reference;
        this.columns = columns;
        this.names = names;
        this.records = records;
        this.file = file;
        this.scan = scan;
    }

    public scala.collection.immutable.Seq<Expression> children() {
        List<Expression> all = new ArrayList<>(columns);
        all.add(reference);
        return Scala.seq(all);
    }

    public DataType dataType() {
        return DataTypes.BooleanType;
    }

    public int productArity() {
        return 3;
    }

    public Object productElement(int index) {
        return index == 0 ? reference : index == 1 ? columns : file;
    }

    /** Spark compares an expression with its copy to see whether its children have changed. */
    public boolean equals(Object other) {
        return super.equals(other) && columns.equals(((ShownRecords) other).columns) && file.equals(((ShownRecords) other).file);
    }

    public int hashCode() {
        return super.hashCode();
    }

    public Object eval(InternalRow input) {
        Object value = reference.eval(input);
        if (value == null || !records.test((Long) value)) {
            return false;
        }
        Map<String, String> values = new LinkedHashMap<>();
        for (int i = 0; i < columns.size(); i++) {
            Expression column = columns.get(i);
            Object found = CatalystTypeConverters.convertToScala(column.eval(input), column.dataType());
            values.put(names.get(i), found == null ? null : String.valueOf(found));
        }
        long row = (Long) value;
        List<Object> line = Arrays.asList(scan, (int) (row >> 40), row & ((1L << 40) - 1L), values);
        try {
            byte[] text = new ObjectMapper().writeValueAsBytes(line);
            byte[] whole = Arrays.copyOf(text, text.length + 1);
            whole[text.length] = '\n';
            Files.write(Paths.get(file), whole, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException unwritable) {
            return true; // the record is then shown without its values
        }
        return true;
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        return CodegenFallback.super.doGenCode(context, code);
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> renewed) {
        List<Expression> all = Scala.list(renewed);
        Expression last = all.remove(all.size() - 1);
        return new ShownRecords(last, all, names, records, file, scan);
    }
}
