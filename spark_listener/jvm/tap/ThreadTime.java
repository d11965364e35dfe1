package headwater.tap;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** The processor time of the thread that asks; 0 where the JVM does not tell. */
public final class ThreadTime {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private ThreadTime() {}

    public static long nanos() {
        return THREADS.isCurrentThreadCpuTimeSupported() ? Math.max(0L, THREADS.getCurrentThreadCpuTime()) : 0L;
    }
}
