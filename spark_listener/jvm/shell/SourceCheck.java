package headwater.shell;

import com.fasterxml.jackson.databind.ObjectMapper;
import headwater.source.ReadAgain;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;

/** The files that a run read, for a shell that reads them again: which have changed, and RDDs whose tasks check them. */
public final class SourceCheck {
    private final ReadAgain files;

    /** `files` as `ReadAgain` takes them. */
    public SourceCheck(JavaSparkContext context, String files) throws Exception {
        this.files = new ReadAgain(files, context.hadoopConfiguration());
    }

    /** A JSON list of messages, one for each file that has changed. */
    public String changed() throws Exception {
        return new ObjectMapper().writeValueAsString(files.changed());
    }

    /** The records of an RDD of these files. */
    public <T> JavaRDD<T> checked(RDD<T> source) {
        return new JavaRDD<>(new CheckedRdd<>(source, files), source.elementClassTag());
    }
}
