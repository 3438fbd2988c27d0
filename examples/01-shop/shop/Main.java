package shop;

import java.io.IOException;

/**
 * A small shop that serves HTTP and is its own customers.
 *
 *   java shop.Main [--port 0] [--workers 4] [--clients 4] [--rate 200]
 *       serves until it is told to end (SIGTERM); rate 0: no customers; prints "shop ready on port …, pid …"
 *   java shop.Main --selfcheck 100
 *       prints how often each method is called by 100 orders, and ends
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws IOException {
        int port = 0;
        int workers = 4;
        int clients = 4;
        int rate = 200;
        for (int i = 0; i + 1 < args.length; i += 2) {
            int value = Integer.parseInt(args[i + 1]);
            switch (args[i]) {
                case "--port" -> port = value;
                case "--workers" -> workers = value;
                case "--clients" -> clients = value;
                case "--rate" -> rate = value;
                case "--selfcheck" -> {
                    System.out.println(SelfCheck.run(value));
                    return;
                }
                default -> throw new IllegalArgumentException("unknown option " + args[i]);
            }
        }
        Shop shop = new Shop(16, 25, 60);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(shop), "shop-close"));
        port = new Server(shop, port, workers).start();
        Thread restock = new Thread(() -> restock(shop.warehouse), "shop-restock");
        restock.setDaemon(true);
        restock.start();
        if (rate > 0) new Load(port).start(shop.catalogue, clients, rate);
        System.out.println("shop ready on port " + port + ", pid " + ProcessHandle.current().pid());
    }

    private static void restock(Warehouse warehouse) {
        try {
            while (true) {
                Thread.sleep(1000);
                warehouse.restock();
            }
        } catch (InterruptedException end) {
            // The shop closes.
        }
    }

    private static void close(Shop shop) {
        try {
            shop.close();
        } catch (IOException left) {
            System.err.println("a journal is left behind: " + left.getMessage());
        }
    }
}
