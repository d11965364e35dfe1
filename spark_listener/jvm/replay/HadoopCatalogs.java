package headwater.replay;

import headwater.shim.Accessors;
import org.apache.hadoop.fs.Path;

/** A catalog of Iceberg whose tables are the folders of a warehouse. */
final class HadoopCatalogs {
    private static final String ICEBERG = "org.apache.iceberg.";
    private final Object catalog;

    HadoopCatalogs(Object catalog) {
        this.catalog = catalog;
    }

    /** Null of another catalog. */
    Path warehouse() {
        if (catalog == null || !catalog.getClass().getName().startsWith(ICEBERG)) {
            return null;
        }
        Object inner = Accessors.get(catalog, "icebergCatalog");
        if (inner != null && inner.getClass().getSimpleName().equals("CachingCatalog")) {
            inner = Accessors.field(inner, "catalog");
        }
        boolean isHadoop = inner != null && inner.getClass().getName().equals(ICEBERG + "hadoop.HadoopCatalog");
        Object location = isHadoop ? Accessors.field(inner, "warehouseLocation") : null;
        return location == null ? null : new Path(String.valueOf(location));
    }
}
