package shop;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Customers that never sleep for long: a steady, gentle load on the shop's own port. */
final class Load {
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String base;

    Load(int port) {
        base = "http://127.0.0.1:" + port;
    }

    /** @param rate requests a second, of all clients together */
    void start(Catalogue catalogue, int clients, int rate) {
        for (int i = 0; i < clients; i++) {
            Customers customers = new Customers(catalogue.names(), 1000 + i);
            long pauseNanos = 1_000_000_000L * clients / rate;
            Thread thread = new Thread(() -> shopFor(customers, pauseNanos), "shop-client-" + (i + 1));
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void shopFor(Customers customers, long pauseNanos) {
        long next = System.nanoTime();
        try {
            while (true) {
                client.send(request(customers), HttpResponse.BodyHandlers.ofString());
                // Behind after a long pause of the JVM: start from now, do not catch up.
                next = Math.max(next + pauseNanos, System.nanoTime() - pauseNanos);
                long wait = next - System.nanoTime();
                if (wait > 0) Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
            }
        } catch (IOException | InterruptedException end) {
            // The shop closes.
        }
    }

    private HttpRequest request(Customers customers) {
        return switch (customers.next(20)) {
            case 0 -> get("/report");
            case 1 -> get("/search?q=le");
            case 2 -> get("/receipt?number=" + (1 + customers.next(100)));
            default -> {
                Order order = customers.order();
                String voucher = order.voucher == null ? "" : "&voucher=" + order.voucher;
                yield HttpRequest.newBuilder(URI.create(base + "/order?customer=" + order.customer + voucher))
                    .POST(HttpRequest.BodyPublishers.ofString(Customers.text(order))).build();
            }
        };
    }

    private HttpRequest get(String path) {
        return HttpRequest.newBuilder(URI.create(base + path)).build();
    }
}
