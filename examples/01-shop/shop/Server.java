package shop;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The shop over HTTP, on the loopback interface only.
 *
 *   POST /order?customer=…&voucher=…   lines "2 brass kettle"; a receipt, or 404 or 409 and why
 *   GET  /receipt?number=…   /search?q=…   /report   /selfcheck?n=…
 *   GET  /stats              {"requests": so far, "rejected": …, "meanMicros": …}
 */
final class Server {
    private final Shop shop;
    private final HttpServer http;
    private final AtomicLong requests = new AtomicLong();
    private final AtomicLong rejected = new AtomicLong();
    private final AtomicLong nanos = new AtomicLong();

    Server(Shop shop, int port, int workers) throws IOException {
        this.shop = shop;
        // Headers and body are two writes; without this the second waits 40 ms for the first's ACK.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        http.createContext("/", this::handle);
        AtomicInteger number = new AtomicInteger();
        http.setExecutor(Executors.newFixedThreadPool(workers, task -> {
            Thread thread = new Thread(task, "shop-worker-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        }));
    }

    int start() {
        http.start();
        return http.getAddress().getPort();
    }

    private void handle(HttpExchange exchange) throws IOException {
        long start = System.nanoTime();
        int status = 200;
        String answer;
        try {
            answer = answer(exchange);
            if (answer == null) {
                status = 404;
                answer = "not here";
            }
        } catch (Rejected everyday) {
            rejected.incrementAndGet();
            status = everyday.status();
            answer = everyday.getMessage();
        } catch (IllegalArgumentException bad) {
            status = 400;
            answer = bad.getMessage();
        }
        byte[] bytes = (answer + "\n").getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(bytes);
        }
        requests.incrementAndGet();
        nanos.addAndGet(System.nanoTime() - start);
    }

    private String answer(HttpExchange exchange) throws IOException, Rejected {
        Map<String, String> query = query(exchange.getRequestURI().getRawQuery());
        return switch (exchange.getRequestURI().getPath()) {
            case "/order" -> {
                String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
                String customer = query.getOrDefault("customer", "somebody");
                yield shop.orders.process(Order.parse(customer, query.get("voucher"), body)).text();
            }
            case "/receipt" -> shop.journal.read(Integer.parseInt(query.getOrDefault("number", "1")));
            case "/search" -> String.join("\n", Search.find(shop.catalogue, query.getOrDefault("q", "")));
            case "/report" -> String.join("\n", shop.sales.top(10));
            case "/selfcheck" -> SelfCheck.run(Integer.parseInt(query.getOrDefault("n", "100")));
            case "/stats" -> {
                long all = requests.get();
                yield "{\"requests\": " + all + ", \"rejected\": " + rejected.get() + ", \"meanMicros\": "
                    + (all == 0 ? 0 : nanos.get() / all / 1000) + "}";
            }
            default -> null;
        };
    }

    private static Map<String, String> query(String raw) {
        Map<String, String> query = new HashMap<>();
        if (raw == null) return query;
        for (String pair : raw.split("&")) {
            int equals = pair.indexOf('=');
            if (equals > 0) {
                query.put(pair.substring(0, equals),
                    URLDecoder.decode(pair.substring(equals + 1), StandardCharsets.UTF_8));
            }
        }
        return query;
    }
}
