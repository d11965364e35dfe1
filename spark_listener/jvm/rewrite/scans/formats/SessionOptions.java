package headwater.rewrite.scans.formats;

/** Settings of a query's session that readers of files use as default options. */
public interface SessionOptions {
    String timeZone();

    /** The name of the column for records that do not fit. */
    String corruptColumn();

    /**
     * How Parquet finds columns: `id` for columns with an id, `case` for names with case, `id case` for both. Null for
     * names without case.
     */
    String parquetNames();
}
