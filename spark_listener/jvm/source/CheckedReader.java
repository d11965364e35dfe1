package headwater.source;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.Function1;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** Reads one split after the other, in the executor, while their files are those that a run read. */
final class CheckedReader extends scala.runtime.AbstractFunction1<PartitionedFile, Iterator<InternalRow>> implements java.io.Serializable {
    private final Function1<PartitionedFile, Iterator<InternalRow>> original;
    private final ReadAgain files;

    CheckedReader(Function1<PartitionedFile, Iterator<InternalRow>> original, ReadAgain files) {
        this.original = original;
        this.files = files;
    }

    public Iterator<InternalRow> apply(PartitionedFile split) {
        files.check(split.toPath());
        return new Checked<>(original.apply(split), split);
    }

    /** The rows of a split, and a look at its file behind the last. */
    private final class Checked<T> extends AbstractIterator<T> {
        private final Iterator<T> rows;
        private final PartitionedFile split;
        private boolean ended;

        Checked(Iterator<T> rows, PartitionedFile split) {
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

        public T next() {
            return rows.next();
        }
    }
}
