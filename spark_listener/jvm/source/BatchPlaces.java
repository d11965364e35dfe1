package headwater.source;

/** Where the rows of a reader's batches stand. */
interface BatchPlaces {
    /** Sets the places of the next batch's rows. */
    void place(RowIndexVector positions, int rows) throws Exception;
}
