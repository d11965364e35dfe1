package headwater.tap;

import java.io.Serializable;

/**
 * A report of a successful task to the driver. A report is a written segment (`sha256` set), a missing segment or
 * another fault (`fault` set), or a split of a source that the task read (`splitPath` set).
 */
public final class Report implements Serializable {
    public int boundary;
    public int stage;
    public int stageAttempt;
    public int partition;
    public long attempt;
    public long rows;
    public long bytes;
    public long nanos; // processor time of the task's taps, without the generated code
    public String sha256;
    public String[] copied; // files that the rows went to, where a committer's rename makes new ones of them; null: it does not
    public String fault;
    public String operator; // the operator with the fault, if there is no boundary. Null for a scan
    public int source;
    public String splitPath;
    public int splitOrdinal;
    public long splitStart;
    public long splitLength;

    public String segmentName() {
        return "b" + boundary + "-s" + stage + "." + stageAttempt + "-p" + partition + "-a" + attempt + ".seg";
    }
}
