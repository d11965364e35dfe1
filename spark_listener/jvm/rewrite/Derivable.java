package headwater.rewrite;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.EndsWith;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;

/**
 * Whether the groups of an aggregate, or what a semi-join finds on its right side, can be found again when somebody asks: the operator
 * stands over one Parquet scan with nothing but filters and projections between, and whoever traces can evaluate its keys and the filters
 * exactly as Spark does. Then no association need be written: one record of a group tells its keys, and keys tell the records.
 *
 * What is accepted here must be accepted by graph/trace/translate.py; a test compares them.
 */
final class Derivable {
    private static final double BYTES_A_SECOND = 100.0e6; // of compressed columns, read and compared at a trace, on two cores
    private static final Pattern DATE = Pattern.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}|null"); // of four digits' years alone

    final double seconds; // that finding the records of one key again is estimated to take

    final List keys; // of Expression, over what the operator reads

    private Derivable(double seconds, List keys) {
        this.seconds = seconds;
        this.keys = keys;
    }

    /** Of the groups of an aggregate; null where they cannot be found again for sure. */
    static Derivable of(Aggregate aggregate) {
        return of(aggregate.child(), Scala.list(aggregate.groupingExpressions()), new ArrayList());
    }

    /**
     * Of the matches on the right side of a semi-join; null where they cannot be found again for sure. Its rows are referred to by the hash of
     * one key, which must tell the key; what is compared beyond it must be whole numbers.
     */
    static Derivable of(Join join, SemiJoinKeys keys) {
        List wanted = new ArrayList();
        for (int i = 0; i < keys.rightKeys.size(); i++) {
            wanted.add(KeyHash.widened((Expression) keys.rightKeys.get(i)));
        }
        if (wanted.size() != 1 || !KeyHash.tells((Expression) wanted.get(0))) {
            return null;
        }
        List values = keys.rightValues();
        for (int i = 0; i < values.size(); i++) {
            if (!KeyHash.isNumber(((Expression) values.get(i)).dataType())) {
                return null;
            }
        }
        return of(join.right(), wanted, values);
    }

    private static Derivable of(LogicalPlan below, List keys, List values) {
        List wanted = new ArrayList(keys);
        wanted.addAll(values);
        Map defined = new HashMap(); // ExprId -> Expression
        LogicalPlan node = below;
        while (!(node instanceof LogicalRelation)) {
            if (!Inputs.subqueries(node).isEmpty()) {
                return null; // another relation had a part in the rows
            }
            if (node.getClass() == Filter.class) {
                wanted.add(((Filter) node).condition());
                node = ((Filter) node).child();
            } else if (node.getClass() == Project.class) {
                define(((Project) node), defined);
                node = ((Project) node).child();
            } else {
                return null;
            }
        }
        LogicalRelation scan = (LogicalRelation) node;
        if (!(scan.relation() instanceof HadoopFsRelation)) {
            return null;
        }
        HadoopFsRelation relation = (HadoopFsRelation) scan.relation();
        if (relation.fileFormat().getClass() != ParquetFileFormat.class || !plain(relation)) {
            return null;
        }
        Set columns = new HashSet();
        for (int i = 0; i < wanted.size(); i++) {
            if (!same((Expression) wanted.get(i), defined, columns)) {
                return null;
            }
        }
        return new Derivable(relation.location().sizeInBytes() * share(columns, relation) / BYTES_A_SECOND, keys);
    }

    /** Whether Spark reads the columns of the files by their names alone, as they are: whoever traces cannot know better. */
    private static boolean plain(HadoopFsRelation relation) {
        SQLConf conf = SQLConf.get();
        if (conf.isParquetBinaryAsString() || conf.caseSensitiveAnalysis() || conf.parquetFieldIdReadEnabled() || conf.ignoreCorruptFiles()
            || "LEGACY".equalsIgnoreCase(conf.getConfString("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED"))) {
            return false;
        }
        Map options = SourceFormats.options(relation);
        if ("true".equalsIgnoreCase((String) options.get("ignorecorruptfiles")) || "LEGACY".equalsIgnoreCase((String) options.get("datetimerebasemode"))
            || !relation.overlappedPartCols().isEmpty()) {
            return false;
        }
        StructField[] fields = relation.dataSchema().fields();
        for (int i = 0; i < fields.length; i++) {
            if (fields[i].metadata().contains("EXISTS_DEFAULT")) {
                return false; // stands for null where an older file lacks the column
            }
        }
        return true;
    }

    private static void define(Project project, Map defined) {
        List columns = Scala.list(project.projectList());
        for (int i = 0; i < columns.size(); i++) {
            if (columns.get(i) instanceof Alias) {
                defined.put(((Alias) columns.get(i)).exprId(), ((Alias) columns.get(i)).child());
            }
        }
    }

    /** Whether an expression means the same to whoever traces. Adds the columns of the scan that it reads. */
    private static boolean same(Expression expression, Map defined, Set columns) {
        if (expression instanceof Alias) {
            return same(((Alias) expression).child(), defined, columns);
        }
        if (expression instanceof AttributeReference) {
            Expression definition = (Expression) defined.get(((Attribute) expression).exprId());
            if (definition != null) {
                return same(definition, defined, columns);
            }
            columns.add(((Attribute) expression).name());
            return same(expression.dataType());
        }
        if (expression instanceof Literal) {
            boolean dated = !expression.dataType().equals(DataTypes.DateType) || DATE.matcher(expression.toString()).matches();
            return same(expression.dataType()) && dated && expression.toString().indexOf('\0') < 0;
        }
        if (!known(expression)) {
            return false;
        }
        List children = Scala.list(expression.children());
        DataType type = null;
        for (int i = 0; i < children.size(); i++) {
            Expression child = (Expression) children.get(i);
            if (!same(child, defined, columns) || (type != null && !type.equals(child.dataType()))) {
                return false; // operands of two types would be widened, and not in the same way everywhere
            }
            type = child.dataType();
        }
        return true;
    }

    private static boolean known(Expression e) {
        return e instanceof EqualTo || e instanceof EqualNullSafe || e instanceof LessThan || e instanceof LessThanOrEqual || e instanceof GreaterThan
            || e instanceof GreaterThanOrEqual || e instanceof And || e instanceof Or || e instanceof Not || e instanceof IsNull
            || e instanceof IsNotNull || e instanceof In || e instanceof StartsWith || e instanceof EndsWith || e instanceof Contains;
    }

    private static boolean same(DataType type) {
        return type.equals(DataTypes.BooleanType) || type.equals(DataTypes.ByteType) || type.equals(DataTypes.ShortType)
            || type.equals(DataTypes.IntegerType) || type.equals(DataTypes.LongType) || type.equals(DataTypes.StringType)
            || type.equals(DataTypes.DateType) || type instanceof DecimalType;
    }

    /** The share of a relation's bytes that some of its columns have, by the sizes that Spark assumes of types. */
    private static double share(Set columns, HadoopFsRelation relation) {
        double all = 0.0;
        double read = 0.0;
        StructField[] fields = relation.dataSchema().fields();
        for (int i = 0; i < fields.length; i++) {
            int size = fields[i].dataType().defaultSize();
            all += size;
            read += columns.contains(fields[i].name()) ? size : 0;
        }
        return all == 0.0 ? 1.0 : read / all;
    }
}
