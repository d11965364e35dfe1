package headwater.text;

/** How a row of an operator depends on its input, in terms of the capture format ("Behaviours"). Traces use nothing else. */
public final class Behaviour {
    public static final String SOURCE = "source";
    public static final String CONSTANT = "constant";
    public static final String PASSES = "passes";
    public static final String FILTER = "filter";
    public static final String DEFINES = "defines";
    public static final String BRANCHES = "branches";
    public static final String GENERATES = "generates";
    public static final String UNION = "union";
    public static final String JOIN = "join";
    public static final String MATCH = "match";
    public static final String ABSENCE = "absence";
    public static final String GROUP = "group";
    public static final String WINDOW = "window";
    public static final String KEPT = "kept";
    public static final String OPAQUE = "opaque";

    private Behaviour() {}
}
