package headwater.listen;

import java.util.Map;

/** An event that can say what it is; asked on the draining thread. */
interface Described {
    Map<String, Object> describe();
}
