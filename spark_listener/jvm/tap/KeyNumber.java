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
 * What stands for a key that is one BIGINT: the key, mixed so that no key that people use is the reference "none", and a number for null.
 * There are two more of what it must stand for than there are numbers: a key that is taken for null, and one that is taken for none. Where a
 * row has one of these the driver is told, at the price of two comparisons a row.
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
