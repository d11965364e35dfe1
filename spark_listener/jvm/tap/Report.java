package headwater.tap;

import java.io.Serializable;

/**
 * What a task that succeeded tells the driver: a segment that it wrote (`sha256` set), one that it could not write, or what else records
 * cannot be told from (`fault` set), or a split of a source that it read (`splitPath` set).
 */
public final class Report implements Serializable {
    public int boundary;
    public int stage;
    public int stageAttempt;
    public int partition;
    public long attempt;
    public long rows;
    public long bytes;
    public long nanos; // of processor time that its taps took in the task, but for what stands in the generated code
    public String sha256;
    public String[] copied; // files that the rows went to, where a committer's rename makes new ones of them; null: it does not
    public String fault;
    public String operator; // which has the fault, where it is of no boundary; null: a scan
    public int source;
    public String splitPath;
    public int splitOrdinal;
    public long splitStart;
    public long splitLength;

    public String segmentName() {
        return "b" + boundary + "-s" + stage + "." + stageAttempt + "-p" + partition + "-a" + attempt + ".seg";
    }
}
