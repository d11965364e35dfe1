package headwater.replay;

import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.source.OneSpelling;
import headwater.source.OrdinalFileIndex;
import headwater.source.SourceFiles;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
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
 * The one scan of a changed dataset below an aggregate, where each row of the aggregate's input comes from one file of it: the input is then
 * the union of what the files give one by one. Filters, projections, generators and joins that keep the rows of the scan's side are such.
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

    /** The scan, or null where there is none, or where rows do not come from single files of it. */
    static ChangedScan below(LogicalPlan plan, List places) {
        List scans = new ArrayList();
        collect(plan, places, scans);
        return scans.size() == 1 && isByFile(plan, (LogicalRelation) scans.get(0)) ? new ChangedScan((LogicalRelation) scans.get(0)) : null;
    }

    static boolean reads(LogicalPlan plan, List places) {
        List scans = new ArrayList();
        collect(plan, places, scans);
        return !scans.isEmpty();
    }

    private static void collect(LogicalPlan plan, List places, List scans) {
        if (plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation) {
            HadoopFsRelation relation = (HadoopFsRelation) ((LogicalRelation) plan).relation();
            List roots = relation.location() instanceof ChosenFiles ? new ArrayList() : Scala.list(relation.location().rootPaths());
            for (int i = 0; i < roots.size(); i++) {
                String root = place((Path) roots.get(i));
                for (int j = 0; j < places.size(); j++) {
                    String changed = (String) places.get(j);
                    if (root.equals(changed) || root.startsWith(changed + "/") || changed.startsWith(root + "/")) {
                        scans.add(plan);
                        i = roots.size();
                        break;
                    }
                }
            }
        }
        List children = Scala.list(plan.children());
        for (int i = 0; i < children.size(); i++) {
            collect((LogicalPlan) children.get(i), places, scans);
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
            return isByFile((LogicalPlan) plan.children().head(), scan);
        }
        if (plan instanceof Join) {
            Join join = (Join) plan;
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
        List children = Scala.list(plan.children());
        for (int i = 0; i < children.size(); i++) {
            if (contains((LogicalPlan) children.get(i), part)) {
                return true;
            }
        }
        return false;
    }

    /** The same plan with the ordinal of each row's file as one more column, over the files of some ordinals alone. */
    LogicalPlan over(LogicalPlan plan, Set ordinals) {
        if (plan == scan) {
            StructType partition = index.partitionSchema();
            HadoopFsRelation chosen = Nodes.relation(relation, new ChosenFiles(index, ordinals), partition, relation.dataSchema(), relation.fileFormat());
            List output = Scala.list(scan.output());
            output.add(ordinal);
            return Nodes.scan(scan, chosen, Scala.seq(output));
        }
        List children = Scala.list(plan.children());
        List renewed = new ArrayList();
        for (int i = 0; i < children.size(); i++) {
            LogicalPlan child = (LogicalPlan) children.get(i);
            renewed.add(contains(child, scan) ? over(child, ordinals) : child);
        }
        if (plan instanceof Project) {
            List columns = Scala.list(((Project) plan).projectList());
            columns.add(ordinal);
            return new Project(Scala.seq(columns), (LogicalPlan) renewed.get(0));
        }
        return (LogicalPlan) plan.withNewChildren(Scala.seq(renewed));
    }
}
