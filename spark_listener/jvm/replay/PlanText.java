package headwater.replay;

import headwater.shim.Scala;
import headwater.source.OrdinalFileIndex;
import headwater.source.SourceFiles;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;

/**
 * A digest of everything that the rows of a plan depend on, except the files of one scan. Plans with the same digest
 * give the same rows for the same file. Null if that is not certain: with functions of the program, with random values,
 * or with a source other than files.
 */
final class PlanText {
    private static final List<String> NODES = Arrays.asList("LogicalRelation", "Project", "Filter", "Join", "Generate", "Aggregate", "Union");
    private static final String EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions.";
    private static final Pattern ID = Pattern.compile("\\{\"product-class\":\"[^\"]*ExprId\",\"id\":\\d+,\"jvmId\":\"[^\"]*\"\\}");

    private final StringBuilder text = new StringBuilder();
    private final Map<String, Object> ids = new HashMap<>(); // the id of an expression as JSON -> its number in order of appearance
    private final LogicalRelation changed;

    private PlanText(LogicalRelation changed) {
        this.changed = changed;
    }

    /** The digest of an aggregate, or of any plan over the scan `changed`. */
    static String digest(LogicalPlan plan, LogicalRelation changed, SparkSession session) {
        PlanText described = new PlanText(changed);
        if (!described.add(plan)) {
            return null;
        }
        described.text.append(session.version()).append(SQLConf.get().sessionLocalTimeZone());
        described.text.append(new TreeMap<>(Scala.map(SQLConf.get().getAllConfs())));
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(described.text.toString().getBytes(StandardCharsets.UTF_8));
            StringBuilder digits = new StringBuilder();
            for (byte each : hash) {
                digits.append(Character.forDigit((each >> 4) & 15, 16)).append(Character.forDigit(each & 15, 16));
            }
            return digits.toString();
        } catch (java.security.NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private boolean add(LogicalPlan plan) {
        if (!NODES.contains(plan.getClass().getSimpleName())) {
            return false;
        }
        for (Expression expression : Scala.list(plan.expressions())) {
            if (!isCertain(expression)) {
                return false;
            }
            text.append(expression.sql()).append('\n');
        }
        if (plan instanceof LogicalRelation relation) {
            if (!(relation.relation() instanceof HadoopFsRelation)) {
                return false;
            }
            addScan(relation);
        } else {
            text.append(withOwnIds(ownJson(plan))).append('\n');
        }
        for (LogicalPlan child : Scala.list(plan.children())) {
            if (!add(child)) {
                return false;
            }
        }
        return true;
    }

    private void addScan(LogicalRelation scan) {
        HadoopFsRelation relation = (HadoopFsRelation) scan.relation();
        text.append(scan == changed ? "changed " : "scan ").append(relation.fileFormat().getClass().getName()).append(relation.location().rootPaths());
        text.append(new TreeMap<>(Scala.map(relation.options()))).append(relation.dataSchema().json()).append(relation.partitionSchema().json());
        for (Expression expression : Scala.list(scan.output())) {
            text.append(withOwnIds(expression.toJSON()));
        }
        if (scan != changed) {
            SourceFiles files = new SourceFiles(0, 0L);
            new OrdinalFileIndex(relation, files, relation.partitionSchema()).listFiles(Scala.empty(), Scala.empty());
            List<SourceFiles.Entry> entries = files.entries();
            List<String> named = new ArrayList<>();
            for (SourceFiles.Entry entry : entries) {
                named.add(identity(entry));
            }
            Collections.sort(named);
            text.append(named);
        }
        text.append('\n');
    }

    /** A file with the length and the time that it has now. */
    static String identity(SourceFiles.Entry file) {
        return file.path() + "\t" + file.length() + "\t" + file.modified();
    }

    /** The node's own expressions and type of join as JSON. */
    private static String ownJson(LogicalPlan plan) {
        StringBuilder own = new StringBuilder(plan.getClass().getName());
        for (int i = 0; i < plan.productArity(); i++) {
            Object part = plan.productElement(i);
            if (!(part instanceof LogicalPlan)) {
                own.append('|').append(part instanceof Expression expression ? expression.toJSON() : jsonOf(part));
            }
        }
        return own.toString();
    }

    private static String jsonOf(Object part) {
        if (part instanceof Expression expression) {
            return expression.toJSON();
        }
        if (part instanceof scala.Option<?> option) {
            Object inner = Scala.orNull(option);
            return inner == null ? "none" : jsonOf(inner);
        }
        if (part instanceof scala.collection.Seq<?> seq) {
            List<Object> parts = Scala.list(seq);
            StringBuilder listed = new StringBuilder("[");
            for (Object object : parts) {
                if (!(object instanceof LogicalPlan)) {
                    listed.append(jsonOf(object)).append(',');
                }
            }
            return listed.append(']').toString();
        }
        return String.valueOf(part);
    }

    private String withOwnIds(String json) {
        Matcher found = ID.matcher(json);
        StringBuffer renewed = new StringBuffer();
        while (found.find()) {
            Object number = ids.get(found.group());
            if (number == null) {
                number = Integer.valueOf(ids.size());
                ids.put(found.group(), number);
            }
            found.appendReplacement(renewed, "\"id\":" + number);
        }
        return found.appendTail(renewed).toString();
    }

    /** Whether the value of an expression depends on its input alone, and the text above contains all of it. */
    static boolean isCertain(Expression expression) {
        String name = expression.getClass().getName();
        boolean isOfSpark = name.startsWith(EXPRESSIONS) && !name.startsWith(EXPRESSIONS + "objects.") && !name.contains("ApplyFunction");
        boolean isOfProgram = name.contains("UDF") || name.contains("UDA") || name.contains("PythonFunc");
        if (!isOfSpark || isOfProgram || !expression.deterministic() || expression instanceof SubqueryExpression) {
            return false;
        }
        for (Expression child : Scala.list(expression.children())) {
            if (!isCertain(child)) {
                return false;
            }
        }
        return true;
    }
}
