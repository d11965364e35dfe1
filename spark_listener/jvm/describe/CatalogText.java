package headwater.describe;

import headwater.shim.Scala;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import scala.Option;

/** The settings of a catalog for the facet `catalog`: its known values of `name`, `type`, `warehouse` and `uri`. */
final class CatalogText {
    private static final String PREFIX = "spark.sql.catalog.";
    private static final String SESSION = "spark_catalog";

    private CatalogText() {}

    /** Adds to a table's description, whose name begins with that of its catalog unless it is the session's own. */
    static void add(Map<String, Object> described) {
        Object table = described.get("table");
        Option<SparkSession> session = session();
        if (table == null || !session.isDefined()) {
            return;
        }
        SparkSession known = session.get();
        String first = ((String) table).indexOf('.') < 0 ? SESSION : ((String) table).substring(0, ((String) table).indexOf('.'));
        boolean isOther = !first.equals(SESSION) && known.conf().getOption(PREFIX + first).isDefined();
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("name", isOther ? first : SESSION);
        if (isOther) {
            other(known, first, result);
        } else {
            String stores = known.sparkContext().hadoopConfiguration().get("hive.metastore.uris", "").trim();
            boolean isHive = "hive".equals(Scala.orNull(known.conf().getOption("spark.sql.catalogImplementation")));
            result.put("type", isHive ? "hive" : "in-memory");
            result.put("warehouse", ((org.apache.spark.sql.classic.SparkSession) known).sessionState().conf().warehousePath());
            if (isHive && !stores.isEmpty()) {
                result.put("uri", stores.split(",")[0].trim());
            }
        }
        described.put("catalog_of", result);
    }

    private static void other(SparkSession session, String name, Map<String, Object> result) {
        Object type = Scala.orNull(session.conf().getOption(PREFIX + name + ".type"));
        Object made = Scala.orNull(session.conf().getOption(PREFIX + name + ".catalog-impl"));
        Object own = Scala.orNull(session.conf().getOption(PREFIX + name));
        String type_ = String.valueOf(made == null ? own : made);
        result.put("type", type == null ? type_.substring(type_.lastIndexOf('.') + 1) : type);
        result.put("warehouse", Scala.orNull(session.conf().getOption(PREFIX + name + ".warehouse")));
        result.put("uri", Scala.orNull(session.conf().getOption(PREFIX + name + ".uri")));
    }

    private static Option<SparkSession> session() {
        Option<SparkSession> active = SparkSession.getActiveSession();
        return active.isDefined() ? active : SparkSession.getDefaultSession();
    }
}
