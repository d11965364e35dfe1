package headwater.replay;

import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.source.OneSpelling;
import headwater.source.OrdinalFileIndex;
import headwater.source.SourceFiles;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;

/**
 * The one scan of a changed dataset below an aggregate, if each row of the aggregate's input comes from one of its
 * files. The input is then the union of the inputs from single files. Filters, projections, generators, and joins that
 * keep the rows of the scan's side allow that.
 */
final class ChangedScan {
    private static final String ORDINAL = "_headwater_ordinal";

    final LogicalRelation scan;
    final HadoopFsRelation relation;
    final SourceFiles files = new SourceFiles(0, 0L); // one ordinal for each file
    final Attribute ordinal = new AttributeReference(
        ORDINAL, DataTypes.IntegerType, false, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.empty());
    private final OrdinalFileIndex index;

    private ChangedScan(LogicalRelation scan) {
        this.scan = scan;
        relation = (HadoopFsRelation) scan.relation();
        index = new OrdinalFileIndex(relation, files, relation.partitionSchema().add(ORDINAL, DataTypes.IntegerType, false));
        index.listFiles(Scala.empty(), Scala.empty());
    }

    /** The scan. Null if there is none, or if rows do not come from single files. */
    static ChangedScan below(LogicalPlan plan, List<String> places) {
        List<LogicalPlan> scans = new ArrayList<>();
        collect(plan, places, scans);
        return scans.size() == 1 && isByFile(plan, (LogicalRelation) scans.get(0)) ? new ChangedScan((LogicalRelation) scans.get(0)) : null;
    }

    static boolean reads(LogicalPlan plan, List<String> places) {
        List<LogicalPlan> scans = new ArrayList<>();
        collect(plan, places, scans);
        return !scans.isEmpty();
    }

    private static void collect(LogicalPlan plan, List<String> places, List<LogicalPlan> scans) {
        if (plan instanceof LogicalRelation logicalRelation && logicalRelation.relation() instanceof HadoopFsRelation relation) {
            List<Path> roots = relation.location() instanceof ChosenFiles ? new ArrayList<>() : Scala.list(relation.location().rootPaths());
            for (int i = 0; i < roots.size(); i++) {
                String root = place(roots.get(i));
                for (String changed : places) {
                    if (root.equals(changed) || root.startsWith(changed + "/") || changed.startsWith(root + "/")) {
                        scans.add(plan);
                        i = roots.size();
                        break;
                    }
                }
            }
        }
        for (LogicalPlan child : Scala.list(plan.children())) {
            collect(child, places, scans);
        }
    }

    private static String place(Path path) {
        String scheme = path.toUri().getScheme();
        return scheme == null || scheme.equals("file") ? "file:" + path.toUri().getPath() : OneSpelling.of(path.toString());
    }

    private static boolean isByFile(LogicalPlan plan, LogicalRelation scan) {
        if (plan == scan) {
            return true;
        }
        if (plan instanceof Project || plan instanceof Filter || plan instanceof Generate) {
            return isByFile(plan.children().head(), scan);
        }
        if (plan instanceof Join join) {
            boolean isLeft = contains(join.left(), scan);
            return keeps(join.joinType(), isLeft) && isByFile(isLeft ? join.left() : join.right(), scan);
        }
        return false;
    }

    /** Whether a row of one side has the same part in the result whatever other rows this side has. */
    private static boolean keeps(JoinType type, boolean isLeft) {
        String name = type.sql();
        if (name.equals("INNER") || name.equals("CROSS")) {
            return true;
        }
        return isLeft ? name.equals("LEFT OUTER") || name.equals("LEFT SEMI") || name.equals("LEFT ANTI") : name.equals("RIGHT OUTER");
    }

    private static boolean contains(LogicalPlan plan, LogicalPlan part) {
        if (plan == part) {
            return true;
        }
        for (LogicalPlan child : Scala.list(plan.children())) {
            if (contains(child, part)) {
                return true;
            }
        }
        return false;
    }

    /** The same plan with the ordinal of each row's file as one more column, over the files with some ordinals only. */
    LogicalPlan over(LogicalPlan plan, Set<Integer> ordinals) {
        if (plan == scan) {
            StructType partition = index.partitionSchema();
            Set<String> paths = new HashSet<>();
            for (SourceFiles.Entry entry : files.entries()) {
                if (ordinals.contains(entry.ordinal())) {
                    paths.add(entry.path());
                }
            }
            HadoopFsRelation chosen = Nodes.relation(relation, new ChosenFiles(index, paths), partition, relation.dataSchema(), relation.fileFormat());
            List<Attribute> output = Scala.list(scan.output());
            output.add(ordinal);
            return Nodes.scan(scan, chosen, Scala.seq(output));
        }
        List<LogicalPlan> children = Scala.list(plan.children());
        List<LogicalPlan> renewed = new ArrayList<>();
        for (LogicalPlan child : children) {
            renewed.add(contains(child, scan) ? over(child, ordinals) : child);
        }
        if (plan instanceof Project project) {
            List<NamedExpression> columns = Scala.list(project.projectList());
            columns.add(ordinal);
            return new Project(Scala.seq(columns), renewed.get(0));
        }
        return plan.withNewChildren(Scala.seq(renewed));
    }
}
