package headwater.source.iceberg;

import org.apache.spark.sql.connector.read.InputPartition;

/** One task's part of a table: Iceberg's own part, and the columns with the places of the rows. */
class TablePart implements InputPartition {
    final InputPartition original;
    final String[] locations; // of its data files, as `_file` has them
    final int[] ordinals; // of these
    final int file; // the places of `_file` and `_pos` among the columns that are read; -1: its rows cannot be numbered
    final int position;
    final String fault; // why they cannot

    TablePart(InputPartition original, String[] locations, int[] ordinals, int file, int position, String fault) {
        this.original = original;
        this.locations = locations;
        this.ordinals = ordinals;
        this.file = file;
        this.position = position;
        this.fault = fault;
    }

    public String[] preferredLocations() {
        return original.preferredLocations();
    }
}
