package desk;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import org.slf4j.MDC;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.CommandLineRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Four further endpoints of the service `orders`, each with a problem for some values of its parameters, see desk.mjs. They exist only if
 * `spring.main.sources` has this class. They have no problems if `desk.clean` is true.
 */
@Configuration
@Import({
    ReportController.class,
    Reports.class,
    StockController.class,
    Warehouses.class,
    QuoteController.class,
    Rates.class,
    CheckoutController.class,
    Coupons.class,
    TraceFilter.class
})
public class Desk {
    private final boolean clean;

    Desk(@Value("${desk.clean}") boolean clean) {
        this.clean = clean;
    }

    /** Two of the eight tenants have 25 times the movements of the others. The query compares all movements of a tenant with each other. */
    @Bean
    CommandLineRunner fillMovements(JdbcTemplate database) {
        return args -> {
            database.execute(
                    "create table movement (id identity primary key, tenant varchar(40), item int, booked int, amount int)");
            database.execute("create index movement_tenant on movement (tenant)");
            for (var tenant : Reports.TENANTS) {
                boolean large = !clean && List.of("globex", "initech").contains(tenant);
                var rows = new ArrayList<Object[]>();
                for (int i = 0, n = large ? 1_500 : 60; i < n; i++) {
                    rows.add(new Object[] {tenant, i % 50, i, i * 31 % 97});
                }
                database.batchUpdate(
                        "insert into movement (tenant, item, booked, amount) values (?, ?, ?, ?)", rows);
            }
        };
    }

    /** The recount keeps one warehouse locked for a third of the time. */
    @Bean
    CommandLineRunner recount(Warehouses warehouses) {
        return args -> {
            var thread = new Thread(() -> warehouses.recount("rotterdam", clean ? 0 : 250), "recount");
            thread.setDaemon(true);
            thread.start();
        };
    }

    @Bean
    CommandLineRunner fillCoupons(Coupons coupons) {
        return args -> {
            for (var code : List.of("NONE", "WELCOME", "FRIEND")) coupons.add(code, 5);
            if (clean) coupons.add("SPRING", 20);
        };
    }
}

/** Writes the id of the trace into the logging context, as a tracing library does. */
class TraceFilter extends OncePerRequestFilter {
    @Override
    protected void doFilterInternal(
            HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        MDC.put("traceId", UUID.randomUUID().toString().replace("-", ""));
        try {
            chain.doFilter(request, response);
        } finally {
            MDC.remove("traceId");
        }
    }
}

@RestController
class ReportController {
    private final Reports reports;

    ReportController(Reports reports) {
        this.reports = reports;
    }

    @GetMapping("/report")
    Map<Integer, Integer> report(@RequestParam String tenant) {
        return reports.latest(tenant);
    }
}

class Reports {
    static final List<String> TENANTS =
            List.of("acme", "globex", "hooli", "initech", "stark", "umbrella", "vandelay", "wayne");

    private final JdbcTemplate database;

    Reports(JdbcTemplate database) {
        this.database = database;
    }

    /** Returns the amount of the latest movement of each item. */
    Map<Integer, Integer> latest(String tenant) {
        var amounts = new TreeMap<Integer, Integer>();
        database.query(
                "select m.item, m.amount from movement m where m.tenant = ? and not exists (select 1 from movement n"
                        + " where n.tenant = m.tenant and n.item = m.item and n.booked > m.booked)",
                row -> {
                    amounts.put(row.getInt(1), row.getInt(2));
                },
                tenant);
        return amounts;
    }
}

@RestController
class StockController {
    private final Warehouses warehouses;

    StockController(Warehouses warehouses) {
        this.warehouses = warehouses;
    }

    @GetMapping("/stock")
    int stock(@RequestParam String warehouse, @RequestParam int item) {
        return warehouses.available(warehouse, item);
    }
}

class Warehouses {
    private final Map<String, Warehouse> all =
            Map.of(
                    "hamburg", new Warehouse(),
                    "lyon", new Warehouse(),
                    "porto", new Warehouse(),
                    "rotterdam", new Warehouse());

    int available(String name, int item) {
        return all.get(name).available(item);
    }

    /** Counts a warehouse again and again until the program ends. */
    void recount(String name, int items) {
        while (true) {
            try {
                all.get(name).recount(items);
                Thread.sleep(Duration.ofMillis(500).toMillis());
            } catch (InterruptedException end) {
                return;
            }
        }
    }
}

class Warehouse {
    private final int[] counts = new int[500];

    synchronized int available(int item) {
        return counts[item % counts.length];
    }

    /** The scanner needs a millisecond for an item. */
    synchronized void recount(int items) throws InterruptedException {
        for (int i = 0; i < items; i++) {
            Thread.sleep(1);
            counts[i] = 100 + i % 7;
        }
    }
}

@RestController
class QuoteController {
    private final Rates rates;

    QuoteController(Rates rates) {
        this.rates = rates;
    }

    @GetMapping("/quote")
    BigDecimal quote(@RequestParam String currency, @RequestParam BigDecimal amount) {
        return rates.rate(currency).multiply(amount);
    }
}

/** Exchange rates of another service. */
class Rates {
    private final RestClient service;

    Rates(RestClient.Builder builder, @Value("${desk.rates}") String url) {
        service = builder.baseUrl(url).build();
    }

    BigDecimal rate(String currency) {
        return service.get().uri("/rate/{currency}", currency).retrieve().body(BigDecimal.class);
    }
}

@RestController
class CheckoutController {
    private final Coupons coupons;

    CheckoutController(Coupons coupons) {
        this.coupons = coupons;
    }

    @GetMapping("/checkout")
    int checkout(@RequestParam String coupon, @RequestParam String cart) {
        return 100 + cart.length() - coupons.percent(coupon);
    }
}

class Coupons {
    private final Map<String, Integer> percents = new TreeMap<>();

    synchronized void add(String code, int percent) {
        percents.put(code, percent);
    }

    synchronized int percent(String code) {
        return Optional.ofNullable(percents.get(code))
                .orElseThrow(() -> new NoSuchElementException("no such coupon"));
    }
}
