package headwater.source;

/** Row indexes of a batch: those from a first one on, or, where the reader leaves out pages, a list. Nothing is filled in beforehand. */
final class RowIndexVector extends LongColumn {
    static final long UNKNOWN = Long.MIN_VALUE; // as a reference: none

    private long first;
    private long[] listed; // null: they follow one another
    private long[] wanted; // null: all are; else ascending, and those between `from` and `to`
    private int from;
    private int to;

    void from(long first) {
        this.first = first;
        this.listed = null;
        this.wanted = null;
    }

    void list(long[] indexes) {
        this.listed = indexes;
        this.wanted = null;
    }

    /** Give only these rows (ascending) their index, and all others -1. True if one of them is among the first `rows`. */
    boolean choose(long[] chosen, int rows) {
        from = rows == 0 ? 0 : WantedRows.place(chosen, index(0));
        to = rows == 0 ? 0 : WantedRows.place(chosen, index(rows - 1) + 1L);
        wanted = listed == null && to - from == rows ? null : chosen; // those listed may leave out some of these and have others
        return from < to;
    }

    void unknown() {
        list(null);
        first = UNKNOWN;
    }

    public long getLong(int row) {
        long index = index(row);
        return wanted == null || java.util.Arrays.binarySearch(wanted, from, to, index) >= 0 ? index : -1L;
    }

    private long index(int row) {
        return listed != null ? listed[row] : first == UNKNOWN ? UNKNOWN : first + row;
    }
}
