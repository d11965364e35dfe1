package headwater.rewrite.scans.formats;

/** What readers of files take from the session of a query where none of their own options says it. */
public interface SessionOptions {
    String timeZone();

    /** The name of the column for records that do not fit. */
    String corruptColumn();

    /** How Parquet finds columns: by `id` those of the schema that have one, by names where `case` counts, or `id case`; null: by names. */
    String parquetNames();
}
