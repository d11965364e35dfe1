package headwater.tap;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;

/**
 * The number of a key that is one BIGINT. The key is mixed so that no common key becomes the reference "none", and null
 * has a number of its own. There are two more values than numbers, so one key is mistaken for null, and one for "none".
 * The driver gets a report if a row has one of these keys, at the price of two comparisons for each row.
 */
public final class KeyNumber extends LongOfChildren {
    private final AmbiguousKeys met;

    public KeyNumber(scala.collection.immutable.Seq<Expression> children, AmbiguousKeys met) {
        super(children);
        this.met = met;
    }

    public Object eval(InternalRow input) {
        Object key = children.apply(0).eval(input);
        if (key != null && AmbiguousKeys.has(((Long) key))) {
            met.run();
        }
        return (key == null ? AmbiguousKeys.NULL : ((Long) key).longValue()) ^ AmbiguousKeys.MIXED;
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        ExprCode key = children.apply(0).genCode(context);
        String callback = context.addReferenceObj("ambiguous", met, "java.lang.Runnable");
        String value = key.value().toString();
        String isNull = key.isNull().toString();
        String text = "if (!" + isNull + " && (" + value + " == " + AmbiguousKeys.NULL + "L || " + value + " == " + AmbiguousKeys.NONE + "L)) {\n  "
            + callback + ".run();\n}\n"
            + "long " + code.value() + " = (" + isNull + " ? " + AmbiguousKeys.NULL + "L : " + value + ") ^ " + AmbiguousKeys.MIXED + "L;\n";
        Block all = key.code().$plus(new CodeBlock(Scala.seq(text), Scala.empty()));
        return new ExprCode(all, FalseLiteral$.MODULE$, code.value());
    }

    public Expression withChildren(scala.collection.immutable.Seq<Expression> renewed) {
        return new KeyNumber(renewed, met);
    }

    public scala.collection.immutable.Seq<Object> otherCopyArgs() {
        return Scala.seq(met);
    }
}
