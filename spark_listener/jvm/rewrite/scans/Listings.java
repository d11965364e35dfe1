package headwater.rewrite.scans;

import headwater.rewrite.core.Inputs;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;

/**
 * Folders that a query reads with two different lists of files, because files came or went in between. Spark considers
 * their indexes equal, and scans of equal indexes share their files (SourceFiles). Only references show which files
 * each scan read, so a trace that reads all records of a scan again would read too many.
 */
public final class Listings {
    private final List<PartitioningAwareFileIndex> indexes = new ArrayList<>(); // each once
    private final List<Set<String>> listed = new ArrayList<>(); // or null: the files of each, once they were compared
    private boolean met;

    private Listings() {}

    /** Whether a plan reads a folder with two different lists of files. */
    public static boolean differ(LogicalPlan plan) {
        Listings found = new Listings();
        found.visit(plan);
        return found.met;
    }

    private void visit(LogicalPlan node) {
        if (node instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation files) {
            Object index = files.location();
            if (index instanceof PartitioningAwareFileIndex partitioningAwareFileIndex) {
                take(partitioningAwareFileIndex);
            }
        }
        List<Expression> subqueries = Inputs.subqueries(node);
        for (int i = 0; !met && i < subqueries.size(); i++) {
            visit(((ScalarSubquery) subqueries.get(i)).plan());
        }
        List<LogicalPlan> children = Scala.list(node.children());
        for (int i = 0; !met && i < children.size(); i++) {
            visit(children.get(i));
        }
    }

    private void take(PartitioningAwareFileIndex index) {
        for (PartitioningAwareFileIndex partitioningAwareFileIndex : indexes) {
            if (partitioningAwareFileIndex == index) {
                return;
            }
        }
        Set<String> own = null;
        for (int i = 0; i < indexes.size(); i++) {
            if (indexes.get(i).equals(index)) {
                own = own == null ? files(index) : own;
                if (listed.get(i) == null) {
                    listed.set(i, files(indexes.get(i)));
                }
                met |= !own.equals(listed.get(i));
            }
        }
        indexes.add(index);
        listed.add(own);
    }

    private static Set<String> files(PartitioningAwareFileIndex index) {
        Set<String> result = new HashSet<>();
        for (FileStatus file : Scala.list(index.allFiles())) {
            result.add(file.getPath() + "\n" + file.getLen() + "\n" + file.getModificationTime());
        }
        return result;
    }
}
