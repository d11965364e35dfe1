package headwater.source;

/** References of batches that follow one another without a gap. */
final class CountedRows implements BatchPlaces {
    private long next;

    CountedRows(long first) {
        this.next = first;
    }

    public void place(RowIndexVector positions, int rows) {
        positions.from(next);
        next += rows;
    }
}
