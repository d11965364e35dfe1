package headwater.shell;

import headwater.source.HadoopFiles;
import headwater.source.ReadAgain;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** The records of an RDD of files, which a task gives only while the files of its partition are those that a run read. */
final class CheckedRdd<T> extends RDD<T> {
    private final ReadAgain files;

    CheckedRdd(RDD<T> source, ReadAgain files) {
        super(source, source.elementClassTag());
        this.files = files;
    }

    public Partition[] getPartitions() {
        return source().partitions();
    }

    public Iterator<T> compute(Partition split, TaskContext context) {
        List<Path> paths = HadoopFiles.paths(split);
        check(paths);
        try {
            return new Checked(source().iterator(split, context), paths);
        } catch (Throwable fault) {
            check(paths); // a file that became shorter cannot be opened at a later split
            throw fault;
        }
    }

    @SuppressWarnings("unchecked")
    private RDD<T> source() {
        return (RDD<T>) dependencies().apply(0).rdd();
    }

    private void check(List<Path> paths) {
        for (Path path : paths) {
            files.check(path);
        }
    }

    /** The records, and a look at the files behind the last. */
    private final class Checked extends AbstractIterator<T> {
        private final Iterator<T> records;
        private final List<Path> paths;
        private boolean ended;

        Checked(Iterator<T> records, List<Path> paths) {
            this.records = records;
            this.paths = paths;
        }

        public boolean hasNext() {
            boolean more;
            try {
                more = records.hasNext();
            } catch (Throwable fault) {
                check(paths);
                throw fault;
            }
            if (!more && !ended) {
                ended = true;
                check(paths);
            }
            return more;
        }

        public T next() {
            return records.next();
        }
    }
}
