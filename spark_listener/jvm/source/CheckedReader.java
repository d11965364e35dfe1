package headwater.source;

import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.Function1;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** Reads one split after the other, in the executor, while their files are those that a run read. */
final class CheckedReader extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
    private final Function1 original;
    private final ReadAgain files;

    CheckedReader(Function1 original, ReadAgain files) {
        this.original = original;
        this.files = files;
    }

    public Object apply(Object split) {
        files.check(((PartitionedFile) split).toPath());
        return new Checked((Iterator) original.apply(split), (PartitionedFile) split);
    }

    /** The rows of a split, and a look at its file behind the last. */
    private final class Checked extends AbstractIterator {
        private final Iterator rows;
        private final PartitionedFile split;
        private boolean ended;

        Checked(Iterator rows, PartitionedFile split) {
            this.rows = rows;
            this.split = split;
        }

        public boolean hasNext() {
            boolean more = rows.hasNext();
            if (!more && !ended) {
                ended = true;
                files.check(split.toPath());
            }
            return more;
        }

        public Object next() {
            return rows.next();
        }
    }
}
