package headwater.tap;

/**
 * A frame of zstd whose content is not compressed (RFC 8878, 3.1.1), for what zstd makes little of. Even its fastest
 * level takes longer than all else that is done for the hash of a word.
 */
final class StoredFrame {
    private static final int MAGIC = 0xFD2FB528;
    private static final byte SIZED = (byte) 0xA0; // one segment, the size of its content in four bytes, no checksum
    private static final int HEADER = 9;
    private static final int BLOCK_HEADER = 3;
    private static final int MOST_IN_BLOCK = 128 * 1024;

    private StoredFrame() {}

    /** Writes `from`, begin to end, which is not empty. Gives where the frame ends. */
    static int write(byte[] from, int begin, int end, byte[] into, int to) {
        BlockEncoder.putInt(into, to, MAGIC);
        into[to + 4] = SIZED;
        BlockEncoder.putInt(into, to + 5, end - begin);
        int at = to + HEADER;
        for (int done = begin; done < end; done += MOST_IN_BLOCK) {
            int size = Math.min(MOST_IN_BLOCK, end - done);
            BlockEncoder.putInt(into, at, size << 3 | (done + size == end ? 1 : 0)); // three bytes: the fourth is overwritten next
            System.arraycopy(from, done, into, at + BLOCK_HEADER, size);
            at += BLOCK_HEADER + size;
        }
        return at;
    }
}
