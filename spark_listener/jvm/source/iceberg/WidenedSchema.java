package headwater.source.iceberg;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * The schema that Iceberg reads, in the JSON of its specification, with the file and position of each row. Iceberg's
 * readers fill both columns. The columns are the last ones, unless the query itself reads them.
 */
final class WidenedSchema {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int FILE = Integer.MAX_VALUE - 1; // field ids that the specification reserves
    private static final int POSITION = Integer.MAX_VALUE - 2;

    final String text;
    final int file; // the places of the two among the columns
    final int position;

    private WidenedSchema(String text, int file, int position) {
        this.text = text;
        this.file = file;
        this.position = position;
    }

    /** Throws where the text is no such schema. */
    static WidenedSchema of(String given) throws Exception {
        ObjectNode schema = (ObjectNode) JSON.readTree(given);
        ArrayNode fields = (ArrayNode) schema.get("fields");
        int file = place(fields, FILE, "_file", "string");
        int position = place(fields, POSITION, "_pos", "long");
        return new WidenedSchema(JSON.writeValueAsString(schema), file, position);
    }

    private static int place(ArrayNode fields, int id, String name, String type) {
        for (int i = 0; i < fields.size(); i++) {
            if (fields.get(i).get("id").asInt() == id) {
                return i;
            }
            if (fields.get(i).get("name").asText().equals(name)) {
                throw new IllegalStateException("a column of the table is called " + name);
            }
        }
        ObjectNode field = fields.addObject();
        field.put("id", id);
        field.put("name", name);
        field.put("required", true);
        field.put("type", type);
        return fields.size() - 1;
    }
}
