package headwater.tap;

import java.io.Serializable;
import java.math.BigInteger;
import java.security.MessageDigest;
import java.util.TimeZone;
import java.util.UUID;
import java.util.function.ToLongFunction;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The position of a row whose key is not a single whole number: 53 bits of the SHA-256 of the key's bytes. The key
 * itself goes to a boundary of the kind `keys`. With it a trace finds the row again, and sees collisions (docs: capture
 * format, section 2).
 *
 * Generated code uses it as a ToLongFunction of Object[] with a value for each column of the key: a Long (whole
 * numbers, days, microseconds, 0 or 1), Decimal or UTF8String. No method throws. A key that is null, too long or out of
 * range has the position "none", and the driver gets a report.
 */
public final class KeyRecorder implements ToLongFunction<Object>, Serializable {
    public static final int HEADER = 2; // columns of the boundary before the words of a key: its position, and the number of the part
    private static final int MOST = 1024; // bytes of a key
    private static final int WORDS = 4; // of a part, where keys have no one length
    private static final long FIRST_DAY = -135140L; // 1600-01-01: before, calendars differ
    private static final long LAST_DAY = 2932896L; // 9999-12-31
    private static final long DAY = 86400L * 1000L * 1000L; // microseconds

    private final String[] kinds;
    private final int words; // of a part
    private final TapSink sink;
    private final TaskFault met;
    private transient byte[] bytes;
    private transient int length;
    private transient MessageDigest digest;
    private transient TaskContext task; // whose buffer it is
    private transient long[] buffer;
    private transient Boolean inUtc;

    public KeyRecorder(String[] kinds, TapSink sink, TaskFault met) {
        this.kinds = kinds;
        this.words = words(kinds);
        this.sink = sink;
        this.met = met;
    }

    /** The number of eight-byte words in a part of a key. If all keys have the same length, a part is a whole key. */
    public static int words(String[] kinds) {
        int all = 0;
        for (String kind : kinds) {
            if (kind.equals("text") || kind.equals("char")) {
                return WORDS;
            }
            all += kind.equals("uuid") || isWide(kind) ? 2 : 1;
        }
        return all;
    }

    public long applyAsLong(Object values) {
        try {
            if (encode((Object[]) values)) {
                return record();
            }
        } catch (Throwable fault) {
            // the row has no position, and the job goes on
        }
        met.run();
        return Long.MIN_VALUE;
    }

    private long record() throws Exception {
        if (digest == null) {
            digest = MessageDigest.getInstance("SHA-256");
        }
        digest.update(bytes, 0, length);
        byte[] hash = digest.digest();
        long position = word(hash, 0, 8) >>> 11;
        TaskContext now = TaskContext.get();
        if (now != task) {
            task = now;
            buffer = null;
        }
        int parts = Math.max(1, (length + 8 * words - 1) / (8 * words));
        for (int part = 0; part < parts; part++) {
            if (buffer == null || (int) buffer[0] >= buffer.length) {
                buffer = (long[]) sink.apply(buffer);
            }
            int at = (int) buffer[0];
            buffer[at] = position;
            buffer[at + 1] = part;
            for (int i = 0; i < words; i++) {
                buffer[at + HEADER + i] = word(bytes, 8 * (part * words + i), length);
            }
            buffer[0] = at + HEADER + words;
            buffer[1]++;
        }
        return position;
    }

    /** Eight bytes, the first the highest; zeros stand for those from `end` on. */
    private static long word(byte[] of, int from, int end) {
        long result = 0L;
        for (int i = from; i < from + 8; i++) {
            result = result << 8 | (i < end ? of[i] & 0xFF : 0);
        }
        return result;
    }

    /** Whether the values are a key. Its bytes are then in `bytes`, `length` of them. */
    private boolean encode(Object[] values) {
        if (bytes == null) {
            bytes = new byte[MOST];
        }
        length = 0;
        for (int i = 0; i < kinds.length; i++) {
            if (values[i] == null || !encode(kinds[i], values[i])) {
                return false;
            }
        }
        return true;
    }

    private boolean encode(String kind, Object value) {
        if (kind.equals("text") || kind.equals("char")) {
            return text(((UTF8String) value).getBytes(), kind.equals("char"));
        }
        if (kind.equals("uuid")) {
            String text = String.valueOf(value);
            UUID uuid = UUID.fromString(text);
            return uuid.toString().equals(text) && put(uuid.getMostSignificantBits()) && put(uuid.getLeastSignificantBits());
        }
        if (kind.startsWith("decimal")) {
            int scale = Integer.parseInt(kind.substring(kind.indexOf(',') + 1, kind.length() - 1).trim());
            BigInteger unscaled = ((Decimal) value).toJavaBigDecimal().setScale(scale).unscaledValue();
            return !isWide(kind) ? put(unscaled.longValueExact()) : put(unscaled.shiftRight(64).longValueExact()) && put(unscaled.longValue());
        }
        long number = ((Long) value);
        if (kind.equals("date")) {
            return number >= FIRST_DAY && number <= LAST_DAY && put(number);
        }
        if (kind.equals("local")) { // a time without a zone, which Spark has read as one of this JVM's zone
            if (inUtc == null) {
                inUtc = isUtc(TimeZone.getDefault());
            }
            return inUtc && isTime(number) && put(number);
        }
        return kind.equals("timestamp") || kind.equals("instant") ? isTime(number) && put(number) : put(number);
    }

    public static boolean isUtc(TimeZone zone) {
        return zone.toZoneId().getRules().isFixedOffset() && zone.getRawOffset() == 0;
    }

    private static boolean isTime(long microseconds) {
        return microseconds >= FIRST_DAY * DAY && microseconds < (LAST_DAY + 1L) * DAY;
    }

    /** Whether it takes more than eight bytes: of more than 18 digits. */
    private static boolean isWide(String kind) {
        return kind.startsWith("decimal") && Integer.parseInt(kind.substring(kind.indexOf('(') + 1, kind.indexOf(',')).trim()) > 18;
    }

    private boolean text(byte[] value, boolean padded) {
        int end = value.length;
        while (padded && end > 0 && value[end - 1] == ' ') {
            end--;
        }
        if (length + 4 + end > MOST) {
            return false;
        }
        for (int shift = 24; shift >= 0; shift -= 8) {
            bytes[length++] = (byte) (end >>> shift);
        }
        System.arraycopy(value, 0, bytes, length, end);
        length += end;
        return true;
    }

    private boolean put(long value) {
        if (length + 8 > MOST) {
            return false;
        }
        for (int shift = 56; shift >= 0; shift -= 8) {
            bytes[length++] = (byte) (value >>> shift);
        }
        return true;
    }
}
