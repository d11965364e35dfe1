package headwater.tap;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

/** The bytes of segments around their blocks, and where they lie. */
public final class SegmentFiles {
    public static final byte[] MAGIC = "HWSEG002".getBytes(StandardCharsets.US_ASCII);

    private static FileSystem local; // of this JVM

    private SegmentFiles() {}

    public static FileSystem of(Path path, Configuration conf) throws IOException {
        FileSystem files = path.getFileSystem(conf);
        return files instanceof LocalFileSystem ? local(files.getUri(), conf) : files;
    }

    private static synchronized FileSystem local(URI place, Configuration conf) throws IOException {
        if (local == null) {
            FileSystem made = new LocalSegments();
            made.initialize(place, conf);
            local = made;
        }
        return local;
    }

    /** The part of a segment after the last block. */
    public static void footer(OutputStream out, byte[] json) throws IOException {
        byte[] number = new byte[4];
        out.write(number); // 0 in place of a block's length
        out.write(json);
        BlockEncoder.putInt(number, 0, json.length);
        out.write(number);
        out.write(MAGIC);
    }

    /** A stream that counts and hashes what it writes. */
    public static final class Hashed extends FilterOutputStream {
        private final MessageDigest digest;
        private long bytes;

        public Hashed(OutputStream out) throws IOException {
            super(out);
            try {
                digest = MessageDigest.getInstance("SHA-256");
            } catch (NoSuchAlgorithmException impossible) {
                throw new IOException(impossible);
            }
        }

        public void write(int value) throws IOException {
            write(new byte[] {(byte) value}, 0, 1);
        }

        public void write(byte[] data, int from, int length) throws IOException {
            out.write(data, from, length);
            digest.update(data, from, length);
            bytes += length;
        }

        public long bytes() {
            return bytes;
        }

        /** In hexadecimal; asked once, after the last byte. */
        public String sha256() {
            byte[] hash = digest.digest();
            StringBuilder result = new StringBuilder();
            for (byte each : hash) {
                result.append(Character.forDigit((each >> 4) & 15, 16)).append(Character.forDigit(each & 15, 16));
            }
            return result.toString();
        }
    }
}
