package headwater.tap;

import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * The local file system without checksum files, and with the permissions of the process. Hadoop's own class sets
 * permissions separately. Without its native library it starts a `chmod` for every file and folder, which costs the
 * task milliseconds for each segment.
 */
final class LocalSegments extends RawLocalFileSystem {
    public void setPermission(Path path, FsPermission permission) {}
}
