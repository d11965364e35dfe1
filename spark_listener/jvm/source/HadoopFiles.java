package headwater.source;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.spark.Dependency;
import org.apache.spark.Partition;
import org.apache.spark.rdd.HadoopPartition;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.RDD;

/** The files that an RDD of Hadoop's reads, and those that one has written, as JSON: one call from Python instead of one a file. */
public final class HadoopFiles {
    private HadoopFiles() {}

    /** {"files": [[path, length, modified]], "splits": [[index of the file, start, length]]}, a split a partition; or {"problem": text}. */
    public static String read(RDD rdd, Configuration conf) throws Exception {
        Map result = new LinkedHashMap();
        if (conf.get("textinputformat.record.delimiter") != null) {
            result.put("problem", "textinputformat.record.delimiter makes records of something else than lines");
            return new ObjectMapper().writeValueAsString(result);
        }
        Map numbers = new LinkedHashMap(); // Path -> Integer
        List files = new ArrayList();
        List splits = new ArrayList();
        Partition[] partitions = rdd.partitions();
        for (int i = 0; i < partitions.length; i++) {
            Object split = partitions[i] instanceof HadoopPartition ? ((HadoopPartition) partitions[i]).inputSplit().value() : null;
            if (!(split instanceof FileSplit)) {
                result.put("problem", "its partitions are no parts of files");
                return new ObjectMapper().writeValueAsString(result);
            }
            FileSplit part = (FileSplit) split;
            Integer number = (Integer) numbers.get(part.getPath());
            if (number == null) {
                number = Integer.valueOf(files.size());
                numbers.put(part.getPath(), number);
                files.add(described(part.getPath().getFileSystem(conf).getFileStatus(part.getPath())));
            }
            List entry = new ArrayList();
            entry.add(number);
            entry.add(Long.valueOf(part.getStart()));
            entry.add(Long.valueOf(part.getLength()));
            splits.add(entry);
        }
        result.put("path", path(rdd));
        result.put("files", files);
        result.put("splits", splits);
        return new ObjectMapper().writeValueAsString(result);
    }

    /** What the program named, as Hadoop has it; the first of several. Null where it is not known. */
    private static String path(RDD rdd) {
        while (!(rdd instanceof HadoopRDD) && rdd.dependencies().size() == 1) {
            rdd = ((Dependency) rdd.dependencies().apply(0)).rdd();
        }
        Path[] paths = rdd instanceof HadoopRDD ? FileInputFormat.getInputPaths(((HadoopRDD) rdd).getJobConf()) : new Path[0];
        return paths.length == 0 ? null : paths[0].toString();
    }

    /** [[path, length, modified]] of the files of a folder. */
    public static String written(String folder, Configuration conf) throws Exception {
        Path path = new Path(folder);
        FileStatus[] found = path.getFileSystem(conf).listStatus(path);
        List files = new ArrayList();
        for (int i = 0; i < found.length; i++) {
            if (found[i].isFile()) {
                files.add(described(found[i]));
            }
        }
        return new ObjectMapper().writeValueAsString(files);
    }

    private static List described(FileStatus status) {
        List file = new ArrayList();
        file.add(status.getPath().toString());
        file.add(Long.valueOf(status.getLen()));
        file.add(Long.valueOf(status.getModificationTime()));
        return file;
    }
}
