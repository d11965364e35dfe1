package headwater.write.iceberg;

import java.io.FileNotFoundException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * A look at a data file through Hadoop's file systems. Iceberg may use other clients, and Hadoop may not reach the
 * store. A try may then take minutes within the commit of the user's task. So after a failure the store is not asked
 * again for a while, in the whole JVM.
 */
final class FileLook {
    private static final long WHILE = 600L * 1000000000L;
    private static final ConcurrentHashMap<String, Object[]> FAILED = new ConcurrentHashMap<>(); // String scheme and authority -> Object[] {nanoTime, reason}

    private FileLook() {}

    static FileStatus at(Path path, Configuration conf) throws Exception {
        String store = path.toUri().getScheme() + "://" + path.toUri().getAuthority();
        Object[] failed = FAILED.get(store);
        if (failed != null && System.nanoTime() - ((Long) failed[0]) < WHILE) {
            throw new IllegalStateException("a look at " + store + " failed before: " + failed[1]);
        }
        try {
            FileStatus status = path.getFileSystem(conf).getFileStatus(path);
            FAILED.remove(store);
            return status;
        } catch (FileNotFoundException answered) {
            throw answered;
        } catch (Throwable fault) { // that a library is missing, too
            if (fault instanceof InterruptedIOException && !(fault instanceof SocketTimeoutException)) {
                Thread.currentThread().interrupt(); // the interrupt was the task's, not ours
            }
            if (!Thread.currentThread().isInterrupted()) {
                FAILED.put(store, new Object[] {System.nanoTime(), String.valueOf(fault)});
            }
            throw new IllegalStateException(String.valueOf(fault));
        }
    }
}
