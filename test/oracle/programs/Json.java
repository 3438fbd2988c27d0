package programs;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Jackson: objects, records, enums and trees to text and back; reflection calls every accessor. */
public final class Json implements Driver.Workload {
    public enum Kind { BIG, SMALL }

    public record Part(String name, int count, Kind kind) {}

    public static final class Thing {
        private String name;
        private double weight;
        private List<Part> parts = new ArrayList<>();
        private Map<String, Integer> stock = new LinkedHashMap<>();

        public String getName() {
            return name;
        }

        public void setName(String name) {
            this.name = name;
        }

        public double getWeight() {
            return weight;
        }

        public void setWeight(double weight) {
            this.weight = weight;
        }

        public List<Part> getParts() {
            return parts;
        }

        public void setParts(List<Part> parts) {
            this.parts = parts;
        }

        public Map<String, Integer> getStock() {
            return stock;
        }

        public void setStock(Map<String, Integer> stock) {
            this.stock = stock;
        }
    }

    /** Disables the table of field names, since its hash codes are seeded with an identity hash code. */
    @Override
    public String work() throws Exception {
        ObjectMapper mapper = new ObjectMapper(JsonFactory.builder().disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES).build())
            .enable(SerializationFeature.INDENT_OUTPUT);
        int length = 0;
        for (int i = 0; i < 30; i++) {
            Thing thing = new Thing();
            thing.setName("thing \u00e9 \"" + i + '"');
            thing.setWeight(i / 7.0);
            for (int j = 0; j < i % 5; j++) {
                thing.getParts().add(new Part("part " + j, j * i, j % 2 == 0 ? Kind.BIG : Kind.SMALL));
                thing.getStock().put("place " + j, j);
            }
            String text = mapper.writeValueAsString(thing);
            Thing back = mapper.readValue(text, Thing.class);
            JsonNode tree = mapper.readTree(text);
            if (!mapper.writeValueAsString(back).equals(text)) throw new IllegalStateException(text);
            length += text.length() + tree.at("/parts").size() + mapper.treeToValue(tree, Thing.class).getName().length();
        }
        try {
            mapper.readValue("{\"name\":1,\"none\":2}", Thing.class);
        } catch (com.fasterxml.jackson.databind.JsonMappingException expected) {
            length += expected.getPath().size();
        }
        return "" + length;
    }
}
