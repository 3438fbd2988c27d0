package programs;

import freemarker.template.Configuration;
import freemarker.template.Template;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.yaml.snakeyaml.Yaml;

/** SnakeYAML reads a document, and FreeMarker inserts its data into a template. */
public final class Templates implements Driver.Workload {
    private static final String PAGE = """
        <#macro row item><tr><td>${item.name?upper_case}</td><td>${item.price?string("0.00")}</td></tr></#macro>
        <#list items?sort_by("price") as item><#if item.price gt 2><@row item/></#if><#else>none</#list>
        ${items?size} ${(missing.thing)!"-"} <#attempt>${nothing}<#recover>recovered</#attempt>
        """;

    /** Keeps configurations alive. Their data are cached with WeakReferences and would be created again after a garbage collection. */
    private static final List<Configuration> KEPT = new ArrayList<>();

    @Override
    public String work() throws Exception {
        StringBuilder yaml = new StringBuilder("items:\n");
        for (int i = 0; i < 25; i++) yaml.append("  - {name: 'item ").append(i).append("', price: ").append(i * 7 % 11 + 0.5).append("}\n");
        Map<String, Object> model = new TreeMap<>(new Yaml().<Map<String, Object>>load(yaml.toString()));
        Configuration configuration = new Configuration(Configuration.VERSION_2_3_33);
        KEPT.add(configuration);
        configuration.setLocale(Locale.ROOT);
        configuration.setLogTemplateExceptions(false);
        configuration.setAttemptExceptionReporter((problem, environment) -> {});
        StringWriter out = new StringWriter();
        new Template("page", PAGE, configuration).process(model, out);
        return new Yaml().dump(out.toString()).hashCode() + " " + out.toString().length();
    }
}
