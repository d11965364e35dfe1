package headwater.shim;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Access by name to classes of connectors. The classes are absent when ours are compiled, and change between releases. */
public final class Accessors {
    private static final Object NONE = Boolean.FALSE; // a class of Java's own: what is kept with a class must not keep us
    private static final ClassValue<Map<String, Object>> KNOWN = new ClassValue<>() { // Class -> Map of String name -> Method, or NONE
        protected Map<String, Object> computeValue(Class<?> type) {
            return new ConcurrentHashMap<>();
        }
    };

    private Accessors() {}

    /** The result of a method without parameters, declared in the class or above. Null if there is none, or if it fails. */
    public static Object get(Object of, String name) {
        if (of == null) {
            return null;
        }
        try {
            Method method = method(of.getClass(), name);
            return method == null ? null : method.invoke(of);
        } catch (Throwable unreadable) {
            return null;
        }
    }

    /** The value of a field, declared in the class or above. Null if there is none. */
    public static Object field(Object of, String name) {
        try {
            Field field = of == null ? null : field(of.getClass(), name);
            return field == null ? null : field.get(of);
        } catch (Throwable unreadable) {
            return null;
        }
    }

    /** An accessible field, declared in the class or above. Null if there is none. */
    public static Field field(Class<?> type, String name) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            try {
                Field field = at.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException further) { // perhaps above
            }
        }
        return null;
    }

    /** Looking it up takes long, above all in vain, and who asks asks for each data file of a table. */
    private static Method method(Class<?> type, String name) {
        Map<String, Object> known = KNOWN.get(type);
        Object found = known.get(name);
        if (found == null) {
            Method method = lookedUp(type, name);
            found = method == null ? NONE : method;
            known.put(name, found);
        }
        return found == NONE ? null : (Method) found;
    }

    private static Method lookedUp(Class<?> type, String name) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            try {
                return opened(at.getDeclaredMethod(name));
            } catch (NoSuchMethodException further) { // perhaps above
            }
        }
        try {
            return opened(type.getMethod(name)); // an interface may give it
        } catch (NoSuchMethodException none) {
            return null;
        }
    }

    private static Method opened(Method method) {
        method.setAccessible(true);
        return method;
    }
}
