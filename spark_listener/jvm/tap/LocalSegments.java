package headwater.tap;

import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * A folder of this machine, without checksum files beside each file, and with the permissions that the process gives. Hadoop's own sets
 * them apart, and without its native library starts a `chmod` for every file and folder: milliseconds of the task for each segment.
 */
final class LocalSegments extends RawLocalFileSystem {
    public void setPermission(Path path, FsPermission permission) {}
}
