package headwater.tap;

/** The two BIGINT keys that are mistaken for another value (docs: capture format, "Derived boundaries"). */
public final class AmbiguousKeys extends TaskFault {
    public static final long NULL = 0x5DEECE66D1CE4E5BL; // as unlikely a key as any hash is to collide
    public static final long MIXED = 0x3C6EF37200000000L; // Long.MIN_VALUE means "none", and is a key that people use; low bits stay: neighbours compress
    public static final long NONE = Long.MIN_VALUE ^ MIXED;

    public AmbiguousKeys(String operator, Reports reports) {
        super(operator, "a key is " + NULL + " or " + NONE + ", which cannot be told from null and from no record", reports);
    }

    static boolean has(long key) {
        return key == NULL || key == NONE;
    }
}
