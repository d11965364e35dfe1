package headwater.tap;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** The processor time of the current thread. 0 if the JVM does not measure it. */
public final class ThreadTime {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private ThreadTime() {}

    public static long nanos() {
        return THREADS.isCurrentThreadCpuTimeSupported() ? Math.max(0L, THREADS.getCurrentThreadCpuTime()) : 0L;
    }
}
