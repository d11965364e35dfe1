package headwater.tap;

import java.io.Serializable;

/** The settings of a task that writes the segment of a boundary. */
public final class SegmentSpec implements Serializable {
    public static final String SINK = "sink";
    public static final String GROUP = "group";
    public static final String WINDOW = "window";
    public static final String MATCH = "match";
    public static final String SEMI = "semi";
    public static final String ROWS = "rows";
    public static final String CHECK = "check";
    public static final String KEYS = "keys";
    public static final String CHOSEN = "chosen";

    public final String capture;
    public final String folder; // a Hadoop path: of this capture
    public final int boundary;
    public final String kind;
    public final int columns;
    public final String columnsJson; // for the footer: the columns' roles
    public final boolean placed; // where the rows went is known elsewhere
    public final int firstPartition; // what is added to the number of a task's partition
    public final Reports reports;
    private final transient Object capturing; // on the driver the capture is kept for as long as a plan that writes it

    public SegmentSpec(String capture, String folder, int boundary, String kind, int columns, String columnsJson, boolean placed, int firstPartition,
        Reports reports, Object capturing) {
        this.placed = placed;
        this.firstPartition = firstPartition;
        this.capturing = capturing;
        this.capture = capture;
        this.folder = folder;
        this.boundary = boundary;
        this.kind = kind;
        this.columns = columns;
        this.columnsJson = columnsJson;
        this.reports = reports;
    }

    /** Whether the order of the rows says something; else those of a task may come in any. */
    boolean isOrdered() {
        return !kind.equals(GROUP) && !kind.equals(MATCH) && !kind.equals(CHECK) && !kind.equals(KEYS) && !kind.equals(CHOSEN);
    }

    /** Whether what every attempt wrote counts: references name rows of it, or keys that it met and another did not. */
    public static boolean countsEveryAttempt(String kind) {
        return isReferred(kind) || kind.equals(KEYS);
    }

    /** Whether references name rows of a task attempt. */
    public static boolean isReferred(String kind) {
        return kind.equals(WINDOW) || kind.equals(SEMI) || kind.equals(ROWS);
    }
}
