package headwater.rewrite.recomputed;

import headwater.rewrite.core.Inputs;
import headwater.rewrite.core.ReadableRoots;
import headwater.rewrite.keys.ComparedValue;
import headwater.rewrite.keys.KeyHash;
import headwater.rewrite.keys.SameValues;
import headwater.rewrite.keys.SemiJoinKeys;
import headwater.rewrite.scans.formats.RecordFormats;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PythonFuncExpression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructField;

/**
 * Whether a trace can find the groups of an aggregate, or the matches on the right side of a semi-join, again. The
 * operator must be above Parquet scans, with only filters, projections and, below a group, equi-joins (inner, left
 * outer, semi and anti) in between. A trace must be able to evaluate the keys, the filters and the conditions of joins
 * exactly as Spark does. No association is written then: a reference to the group identifies its keys, and the keys
 * identify the records.
 *
 * Each accepted plan must be accepted by graph/trace/recompute/spec.py; a test compares them.
 */
public final class Recomputable {
    final double seconds; // that finding the records of one key again is estimated to take
    final List<Expression> keys; // over what the operator reads
    final boolean joined; // whether it reads more than one scan
    private final SameValues values;

    private Recomputable(double seconds, List<Expression> keys, boolean joined, SameValues values) {
        this.seconds = seconds;
        this.keys = keys;
        this.joined = joined;
        this.values = values;
    }

    /** For the groups of an aggregate. Null if they cannot be found again with certainty. */
    static Recomputable of(Aggregate aggregate) {
        Recomputable result = of(aggregate.child(), Scala.list(aggregate.groupingExpressions()), new ArrayList<>(), true);
        if (result == null || (result.joined && result.keys.size() > ComparedValue.MOST)) {
            return null;
        }
        return result.isToldByRecord() && !isSharable(aggregate) ? null : result;
    }

    /** Whether an aggregate of ours may stand next to the program's: Spark runs aggregates in Python among themselves alone. */
    private static boolean isSharable(Aggregate aggregate) {
        for (NamedExpression output : Scala.list(aggregate.aggregateExpressions())) {
            if (holdsPython((Expression) output)) {
                return false;
            }
        }
        return true;
    }

    private static boolean holdsPython(Expression expression) {
        List<Expression> children = Scala.list(expression.children());
        boolean holds = expression instanceof PythonFuncExpression;
        for (int i = 0; !holds && i < children.size(); i++) {
            holds = holdsPython(children.get(i));
        }
        return holds;
    }

    /**
     * For the matches on the right side of a semi-join. Null if they cannot be found again with certainty. The
     * reference to its rows is the hash of one key, which must identify the key. Further compared values must be whole
     * numbers.
     */
    static Recomputable of(Join join, SemiJoinKeys keys) {
        List<Expression> wanted = new ArrayList<>();
        for (Expression rightKey : keys.rightKeys()) {
            wanted.add(KeyHash.widened(rightKey));
        }
        if (wanted.size() != 1 || !KeyHash.tells(wanted.get(0))) {
            return null;
        }
        return areNumbers(keys.rightValues()) ? of(join.right(), wanted, keys.rightValues(), false) : null;
    }

    private static boolean areNumbers(List<Expression> values) {
        for (Expression value : values) {
            if (!KeyHash.isNumber(value.dataType())) {
                return false;
            }
        }
        return true;
    }

    /** Whether the reference to a group identifies its key: one whole number, or no key. */
    boolean isKeyInReference() {
        return keys.isEmpty() || (keys.size() == 1 && KeyHash.tells(keys.get(0)));
    }

    /** Whether the smallest record of a group identifies its key. An aggregate of ours finds that record. */
    private boolean isToldByRecord() {
        return !isKeyInReference() && (!joined || !keyScans().isEmpty());
    }

    /**
     * The scans of a join whose records identify the keys of a group, for keys that do not fit into 64 bits. A scan is
     * given by its place among the operators below, where the operator's input is 0.
     */
    Set<Integer> keyScans() {
        Set<Integer> result = new HashSet<>();
        for (int i = 0; joined && !isKeyInReference() && i < keys.size(); i++) {
            Expression key = keys.get(i);
            if (!ComparedValue.fits(key.dataType())) {
                result.addAll(values.scansOf(key));
            }
        }
        return result;
    }

    private static Recomputable of(LogicalPlan below, List<Expression> keys, List<Expression> values, boolean joins) {
        InputPlan found = new InputPlan(joins);
        found.wanted.addAll(keys);
        found.wanted.addAll(values);
        if (!found.visit(below)) {
            return null;
        }
        Set<Expression> columns = new HashSet<>();
        for (Expression expression : found.wanted) {
            if (!found.values.same(expression, columns)) {
                return null;
            }
        }
        return new Recomputable(found.matches + TraceSeconds.of(found.scans, columns), keys, found.scans.size() > 1, found.values);
    }

    /** The plan below an operator. */
    private static final class InputPlan {
        final SameValues values = new SameValues();
        final List<Expression> wanted = new ArrayList<>(); // what must be evaluated
        final List<LogicalPlan> scans = new ArrayList<>(); // of LogicalRelation
        double matches; // seconds that finding what semi-joins match takes
        private final boolean joins;
        private int next;

        InputPlan(boolean joins) {
            this.joins = joins;
        }

        /** Whether it can all be read again. */
        boolean visit(LogicalPlan node) {
            int place = next++;
            if (!Inputs.subqueries(node).isEmpty()) {
                return false; // another relation had a part in the rows
            }
            if (node.getClass() == Filter.class) {
                wanted.add(((Filter) node).condition());
                return visit(((Filter) node).child());
            }
            if (node.getClass() == Project.class) {
                values.define((Project) node);
                return visit(((Project) node).child());
            }
            if (node instanceof LogicalRelation relation) {
                scans.add(node);
                return values.define(Scala.list(node.output()), place) && isPlain(relation);
            }
            return joins && node instanceof Join join && visit(join);
        }

        private boolean visit(Join join) {
            JoinType type = join.joinType();
            if (type == org.apache.spark.sql.catalyst.plans.LeftSemi$.MODULE$) {
                return visitSemi(join);
            }
            boolean outer = type == org.apache.spark.sql.catalyst.plans.LeftOuter$.MODULE$;
            boolean known = outer || type == org.apache.spark.sql.catalyst.plans.Inner$.MODULE$
                || type == org.apache.spark.sql.catalyst.plans.LeftAnti$.MODULE$;
            if (!known || ExtractEquiJoinKeys$.MODULE$.unapply(join).isEmpty()) {
                return false; // every row with every row
            }
            wanted.add(join.condition().get());
            return visit(join.left()) && (!outer || !holdsJoin(join.right())) && visit(join.right());
        }

        /**
         * Its matches must be found again separately. If the condition has more than keys, a record of the left side
         * represents its row.
         */
        private boolean visitSemi(Join join) {
            SemiJoinKeys keys = SemiJoinKeys.of(join, null);
            Recomputable found = keys == null ? null : Recomputable.of(join, keys);
            if (found == null || !areNumbers(keys.leftValues()) || (keys.condition() != null && !isOneScan(join.left()))) {
                return false;
            }
            matches += found.seconds;
            wanted.add(join.condition().get());
            return visit(join.left()) && visit(join.right());
        }

        private static boolean holdsJoin(LogicalPlan node) {
            return node instanceof Join || (node.children().size() == 1 && holdsJoin(node.children().apply(0)));
        }

        /** Whether a row is made of one record. */
        private static boolean isOneScan(LogicalPlan node) {
            boolean passes = node instanceof Filter || node instanceof Project
                || (node instanceof Join join && join.joinType() == org.apache.spark.sql.catalyst.plans.LeftAnti$.MODULE$);
            return passes ? isOneScan(node.children().apply(0)) : node instanceof LogicalRelation;
        }
    }

    private static boolean isPlain(LogicalRelation scan) {
        if (!(scan.relation() instanceof HadoopFsRelation relation)) {
            return false;
        }
        return relation.fileFormat().getClass() == ParquetFileFormat.class && isReadAgain(relation) && isPlain(relation);
    }

    /** Whether a trace can read the files. If not, the associations must be written. */
    private static boolean isReadAgain(HadoopFsRelation relation) {
        for (Path root : Scala.list(relation.location().rootPaths())) {
            if (!ReadableRoots.cover(root)) {
                return false;
            }
        }
        return true;
    }

    /** Whether Spark reads the columns of the files by their names alone, as they are: whoever traces cannot know better. */
    private static boolean isPlain(HadoopFsRelation relation) {
        SQLConf conf = SQLConf.get();
        if (conf.isParquetBinaryAsString() || conf.caseSensitiveAnalysis() || conf.parquetFieldIdReadEnabled() || conf.ignoreCorruptFiles()
            || "LEGACY".equalsIgnoreCase(conf.getConfString("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED"))) {
            return false;
        }
        Map<String, String> options = RecordFormats.options(relation);
        if ("true".equalsIgnoreCase(options.get("ignorecorruptfiles")) || "LEGACY".equalsIgnoreCase(options.get("datetimerebasemode"))
            || !relation.overlappedPartCols().isEmpty()) {
            return false;
        }
        StructField[] fields = relation.dataSchema().fields();
        for (StructField field : fields) {
            if (field.metadata().contains("EXISTS_DEFAULT")) {
                return false; // stands for null where an older file lacks the column
            }
        }
        return true;
    }
}
