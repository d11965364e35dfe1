package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.Scala;
import java.net.URI;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** INSERT OVERWRITE DIRECTORY in a format of Hive: a folder that is no table's. */
final class HiveFolder {
    private static final String COMMAND = "org.apache.spark.sql.hive.execution.InsertIntoHiveDirCommand";

    private HiveFolder() {}

    /** Adds the folder that a command writes, if it is such a command. */
    static void add(LogicalPlan command, Map<String, Object> sink) {
        Object storage = command.getClass().getName().equals(COMMAND) ? Accessors.get(command, "storage") : null;
        Object place = storage instanceof CatalogStorageFormat catalogStorageFormat ? Scala.orNull(catalogStorageFormat.locationUri()) : null;
        if (place == null) {
            return;
        }
        boolean isLocal = Boolean.TRUE.equals(Accessors.get(command, "isLocal"));
        Path given = new Path((URI) place);
        sink.put("path", given.makeQualified(isLocal ? FsConstants.LOCAL_FS_URI : usual(), new Path("/")).toString());
        sink.put("format", Tables.hiveFormat((CatalogStorageFormat) storage));
        sink.put("mode", Boolean.TRUE.equals(Accessors.get(command, "overwrite")) ? "overwrite" : "append");
    }

    /** The file system of paths that name none. */
    private static URI usual() {
        SparkSession session = SparkSession.getDefaultSession().get();
        return FileSystem.getDefaultUri(session.sparkContext().hadoopConfiguration());
    }
}
