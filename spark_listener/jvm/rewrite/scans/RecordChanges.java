package headwater.rewrite.scans;

/** The change of records in this JVM. A replay has one order for each program, and a program has one JVM. */
final class RecordChanges {
    static volatile RecordChange change;

    private RecordChanges() {}
}
