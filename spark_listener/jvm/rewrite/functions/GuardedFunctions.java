package headwater.rewrite.functions;

import headwater.rewrite.core.HiddenColumn;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;

/**
 * The program's scalar Python functions with guards (`set_aside/guards.py`): a row that fails becomes null, and the
 * last function of the operator, the keeper, says that the row goes.
 */
public final class GuardedFunctions {
    public static final String KEEPER = "headwater_keep_"; // and the number of the operator
    private static final long NONE = Long.MIN_VALUE;

    private static volatile Map<Object, byte[]> beginnings = new HashMap<>(); // Integer eval type -> byte[]: a pickle up to its last three arguments
    private static volatile String python = ""; // the version whose bytecode these hold

    private GuardedFunctions() {}

    /** Set the code that guards functions from now on. */
    public static void state(Map<Object, byte[]> pickles, String version) {
        beginnings = pickles;
        python = version;
    }

    /** Why a function cannot have a guard, or null. */
    static String obstacle(PythonUDF function) {
        if (!(function.func() instanceof SimplePythonFunction known)) {
            return "it is not one of PySpark's functions";
        }
        if (!beginnings.containsKey(function.evalType())) {
            return "it gets an iterator, and cannot go on after an exception";
        }
        if (!known.pythonVer().equals(python)) {
            return "it is for Python " + known.pythonVer() + ", and the program's is " + python;
        }
        for (Expression child : Scala.list(function.children())) {
            String found = child instanceof PythonUDF inner ? obstacle(inner) : null;
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    /** The function with a guard, and so the functions that compute its arguments. */
    static PythonUDF guarded(PythonUDF function, String node) {
        List<Expression> children = new ArrayList<>();
        for (Expression child : Scala.list(function.children())) {
            children.add(child instanceof PythonUDF inner ? guarded(inner, node) : child);
        }
        SimplePythonFunction known = (SimplePythonFunction) function.func();
        return renewed(function, function.name(), known, known.command(), node, "", function.dataType(), Scala.seq(children));
    }

    /** The last function of an operator. It has the environment of another function of the operator. */
    static PythonUDF keeper(PythonUDF other, String node) {
        SimplePythonFunction known = (SimplePythonFunction) other.func();
        Expression argument = new Literal(NONE, DataTypes.LongType);
        PythonUDF made = renewed(other, KEEPER + node, known, null, node, "", DataTypes.BooleanType, Scala.seq(argument));
        return made.copy(
            made.name(), made.func(), made.dataType(), made.children(), made.evalType(), true, NamedExpression$.MODULE$.newExprId());
    }

    public static boolean isKeeper(PythonUDF function) {
        return function.name() != null && function.name().startsWith(KEEPER);
    }

    /** The keeper with the references of its row as arguments: those of a capture. */
    public static PythonUDF referring(PythonUDF keeper, String capture, List<HiddenColumn> hidden) {
        StringBuilder operators = new StringBuilder(capture);
        List<Expression> arguments = new ArrayList<>();
        for (HiddenColumn column : hidden) {
            if (column.role.equals(HiddenColumn.REF)) {
                operators.append(' ').append(column.operator);
                List<Expression> either = new ArrayList<>();
                either.add(column.attribute);
                either.add(new Literal(NONE, DataTypes.LongType));
                arguments.add(new Coalesce(Scala.seq(either)));
            }
        }
        if (arguments.isEmpty()) {
            return keeper;
        }
        String node = keeper.name().substring(KEEPER.length());
        SimplePythonFunction known = (SimplePythonFunction) keeper.func();
        return renewed(keeper, keeper.name(), known, null, node, operators.toString(), DataTypes.BooleanType, Scala.seq(arguments));
    }

    private static PythonUDF renewed(
        PythonUDF function, String name, SimplePythonFunction known, Seq<Object> command, String node, String sources, DataType type,
        Seq<Expression> arguments) {
        return new PickledCall(beginnings.get(function.evalType()), command == null ? 0 : command.length())
            .text(node).text(sources).command(command)
            .in(function, known, name, type, arguments);
    }
}
