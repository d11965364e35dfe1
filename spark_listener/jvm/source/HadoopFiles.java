package headwater.source;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.lib.input.CombineFileSplit;
import org.apache.spark.Partition;
import org.apache.spark.rdd.HadoopPartition;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.NewHadoopPartition;
import org.apache.spark.rdd.NewHadoopRDD;
import org.apache.spark.rdd.RDD;

/** The files that an RDD of Hadoop's reads, and those that one has written, as JSON: one call from Python instead of one a file. */
public final class HadoopFiles {
    /** Settings that make Hadoop's line reader return something else than each line. */
    private static final String[] NO_LINES = {"textinputformat.record.delimiter", "mapreduce.input.linerecordreader.line.maxlength"};
    private static final int MOST_FILES = 1000; // that a short look goes through
    private final Configuration conf;
    private final Map<Path, Integer> numbers = new LinkedHashMap<>();
    private final List<List<Object>> files = new ArrayList<>();

    private HadoopFiles(Configuration conf) {
        this.conf = conf;
    }

    /**
     * {"files": [[path, length, modified]], "splits": [[index of the file, start, length]]} with one split
     * for each partition. If partitions have whole files, "parts" replaces "splits": [[indexes of the files
     * in reading order]]. The result is {"problem": text} if the files are not known.
     */
    public static String read(RDD<?> rdd, boolean lines, Configuration conf) throws Exception {
        Map<Object, Object> result;
        String set = lines ? noLines(rdd) : null;
        if (set != null) {
            result = problem(set + " makes records of something else than lines");
        } else {
            result = new HadoopFiles(conf).read(rdd);
        }
        return new ObjectMapper().writeValueAsString(result);
    }

    /**
     * The setting that makes the records of an RDD something else than the lines of its files, or null. A program may
     * have settings for each read.
     */
    private static String noLines(RDD<?> rdd) throws Exception {
        Configuration read = settings(rdd);
        for (int i = 0; read != null && i < NO_LINES.length; i++) {
            if (read.get(NO_LINES[i]) != null) {
                return NO_LINES[i];
            }
        }
        return null;
    }

    /**
     * The bytes that an RDD of files would read, without Spark's own planning. The result is `most` + 1 if there are
     * more bytes or the look would take long, and -1 if the bytes are not known.
     */
    public static long bytes(RDD<?> rdd, long most) throws Exception {
        Configuration read = settings(rdd);
        Path[] paths = read == null ? new Path[0] : FileInputFormat.getInputPaths(new JobConf(read));
        long bytes = paths.length == 0 ? -1L : 0L;
        for (int i = 0; i < paths.length && bytes >= 0L && bytes <= most; i++) {
            FileSystem system = paths[i].getFileSystem(read);
            FileStatus[] found = system.globStatus(paths[i]);
            if (found == null || found.length == 0) {
                return -1L;
            }
            for (int j = 0; j < found.length && bytes >= 0L && bytes <= most; j++) {
                long more = found[j].isFile() ? found[j].getLen() : bytes(system.listStatusIterator(found[j].getPath()), most);
                bytes = more < 0L ? -1L : bytes + more;
            }
        }
        return Math.min(bytes, most + 1L);
    }

    private static long bytes(RemoteIterator<FileStatus> files, long most) throws Exception {
        long bytes = 0L;
        for (int i = 0; bytes <= most && files.hasNext(); i++) {
            FileStatus file = files.next();
            if (!file.isFile()) {
                return -1L;
            }
            bytes = i < MOST_FILES ? bytes + file.getLen() : most + 1L;
        }
        return bytes;
    }

    private Map<Object, Object> read(RDD<?> rdd) throws Exception {
        List<List<Object>> splits = new ArrayList<>();
        List<List<Object>> parts = new ArrayList<>();
        Partition[] partitions = rdd.partitions();
        for (Partition partition : partitions) {
            Object split = split(partition);
            if (split instanceof FileSplit fileSplit) {
                FileSplit part = fileSplit;
                splits.add(entry(part.getPath(), part.getStart(), part.getLength()));
            } else if (split instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit part) {
                splits.add(entry(part.getPath(), part.getStart(), part.getLength()));
            } else if (split instanceof CombineFileSplit combineFileSplit) {
                parts.add(whole(combineFileSplit));
            }
        }
        boolean one = parts.isEmpty() ? splits.size() == partitions.length : parts.size() == partitions.length && !parts.contains(null);
        if (!one) {
            return problem("its partitions are no parts of files");
        }
        Map<Object, Object> result = new LinkedHashMap<>();
        result.put("path", path(rdd));
        result.put("files", files);
        result.put(parts.isEmpty() ? "splits" : "parts", parts.isEmpty() ? splits : parts);
        return result;
    }

    /** The files that a partition of an RDD of files reads. */
    public static List<Path> paths(Partition partition) {
        Object split = split(partition);
        List<Path> paths = new ArrayList<>();
        if (split instanceof FileSplit fileSplit) {
            paths.add(fileSplit.getPath());
        } else if (split instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit ownFileSplit) {
            paths.add(ownFileSplit.getPath());
        } else if (split instanceof CombineFileSplit combineFileSplit) {
            paths.addAll(java.util.Arrays.asList(combineFileSplit.getPaths()));
        }
        return paths;
    }

    private static Map<Object, Object> problem(String text) {
        Map<Object, Object> result = new LinkedHashMap<>();
        result.put("problem", text);
        return result;
    }

    private static Object split(Partition partition) {
        if (partition instanceof HadoopPartition hadoopPartition) {
            return hadoopPartition.inputSplit().value();
        }
        return partition instanceof NewHadoopPartition newHadoopPartition ? newHadoopPartition.serializableHadoopSplit().value() : null;
    }

    private List<Object> entry(Path file, long start, long length) throws Exception {
        List<Object> entry = new ArrayList<>();
        entry.add(number(file));
        entry.add(start);
        entry.add(length);
        return entry;
    }

    /** The files of a split; null if it has not all of one. */
    private List<Object> whole(CombineFileSplit split) throws Exception {
        List<Object> entry = new ArrayList<>();
        for (int i = 0; i < split.getNumPaths(); i++) {
            Integer number = number(split.getPath(i));
            Object length = files.get(number).get(1);
            if (split.getOffset(i) != 0L || !length.equals(split.getLength(i))) {
                return null;
            }
            entry.add(number);
        }
        return entry;
    }

    private Integer number(Path file) throws Exception {
        Integer number = numbers.get(file);
        if (number == null) {
            number = files.size();
            numbers.put(file, number);
            files.add(described(file.getFileSystem(conf).getFileStatus(file)));
        }
        return number;
    }

    /** The path that the program named, in Hadoop's spelling. The first of several paths. Null if it is not known. */
    private static String path(RDD<?> rdd) throws Exception {
        Configuration read = settings(rdd);
        Path[] paths = read == null ? new Path[0] : FileInputFormat.getInputPaths(new JobConf(read));
        return paths.length == 0 ? null : paths[0].toString();
    }

    /** The configuration for an RDD's files. Null if the RDD reads none. */
    private static Configuration settings(RDD<?> rdd) throws Exception {
        while (!(rdd instanceof HadoopRDD<?, ?>) && !(rdd instanceof NewHadoopRDD<?, ?>) && rdd.dependencies().size() == 1) {
            rdd = rdd.dependencies().apply(0).rdd();
        }
        if (rdd instanceof NewHadoopRDD<?, ?> newHadoopRDD) {
            return newHadoopRDD.getConf();
        }
        return rdd instanceof HadoopRDD<?, ?> hadoopRDD ? hadoopRDD.getJobConf() : null;
    }

    /** [[path, length, modified]] of the files of a folder. */
    public static String written(String folder, Configuration conf) throws Exception {
        Path path = new Path(folder);
        FileStatus[] found = path.getFileSystem(conf).listStatus(path);
        List<List<Object>> files = new ArrayList<>();
        for (FileStatus status : found) {
            if (status.isFile()) {
                files.add(described(status));
            }
        }
        return new ObjectMapper().writeValueAsString(files);
    }

    private static List<Object> described(FileStatus status) {
        List<Object> file = new ArrayList<>();
        file.add(status.getPath().toString());
        file.add(status.getLen());
        file.add(status.getModificationTime());
        return file;
    }
}
