package headwater.rewrite.scans.keyed;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * A question to a database or a broker, on a separate thread. A server without a quick answer costs no more time than
 * the program's settings allow, and is not asked again for a while.
 */
public final class ShortQuestion {
    private static final long SILENCE = 300L * 1000L * 1000L * 1000L; // nanoseconds
    private static final Map<String, Long> SILENT = new HashMap<>(); // String address -> Long, until when it is not asked

    private static volatile int milliseconds = 2000;

    private ShortQuestion() {}

    /** The time limit of a question, for the whole application. 0 disables questions. */
    public static void state(double seconds) {
        milliseconds = (int) Math.min(60000.0, seconds * 1000.0);
    }

    public static int milliseconds() {
        return milliseconds;
    }

    /**
     * The answer, or a String with the reason if there is none. The reason does not contain error messages of others,
     * which may contain anything.
     */
    public static Object answer(String address, ClassLoader loader, Callable<?> question) {
        return answer(address, loader, question, milliseconds);
    }

    /** The same with a limit in milliseconds. A server that had less time than the settings allow may be asked again. */
    public static Object answer(String address, final ClassLoader loader, final Callable<?> question, int most) {
        if (milliseconds <= 0) {
            return "the settings ask nobody (HEADWATER_LOOK_SECONDS)";
        }
        int wait = Math.min(milliseconds, most);
        if (wait <= 0) {
            return "there is no time left for questions";
        }
        synchronized (SILENT) {
            Long until = SILENT.get(address);
            if (until != null && System.nanoTime() - until < 0L) {
                return "there was no answer a little while ago";
            }
        }
        final Object[] found = new Object[1];
        Thread asking = new Thread(() -> {
            try {
                found[0] = question.call();
            } catch (Throwable fault) {
                found[0] = "the question failed (" + fault.getClass().getSimpleName() + ")";
            }
        }, "headwater-short-question");
        asking.setDaemon(true);
        asking.setContextClassLoader(loader);
        asking.start();
        try {
            asking.join(wait);
        } catch (InterruptedException cancelled) {
            Thread.currentThread().interrupt(); // the program's query is cancelled: it meets that by itself
        }
        if (found[0] != null) {
            return found[0];
        }
        if (wait == milliseconds) {
            synchronized (SILENT) {
                SILENT.put(address, System.nanoTime() + SILENCE);
            }
        }
        return "there was no answer within " + wait / 1000.0 + " s";
    }
}
