import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.codehaus.commons.compiler.util.resource.MapResourceFinder;
import org.codehaus.commons.compiler.util.resource.MapResourceCreator;
import org.codehaus.commons.compiler.util.resource.Resource;
import org.codehaus.commons.compiler.util.resource.ResourceFinder;
import org.codehaus.janino.ClassLoaderIClassLoader;
import org.codehaus.janino.Compiler;

/** Compiles the sources of a folder by Janino, against the classes of this JVM. Its caller is scripts/compile_java.py. */
public final class CompileJava {
    public static void main(String[] arguments) throws Exception {
        MapResourceFinder finder = new MapResourceFinder();
        Path root = Path.of(arguments[0]);
        for (Object path : Files.walk(root).filter(file -> file.toString().endsWith(".java")).toArray()) {
            finder.addResource(root.relativize((Path) path).toString(), Files.readString((Path) path));
        }
        Map<String, byte[]> classes = new TreeMap<>();
        Compiler compiler = new Compiler();
        compiler.setSourceFinder(finder);
        compiler.setClassFileFinder(ResourceFinder.EMPTY_RESOURCE_FINDER);
        compiler.setClassFileCreator(new MapResourceCreator(classes));
        compiler.setIClassLoader(new ClassLoaderIClassLoader(CompileJava.class.getClassLoader()));
        compiler.compile(finder.resources().toArray(new Resource[0]));
        System.out.println(classes.size() + " classes");
    }
}
