package shop;

import java.io.IOException;

/** One shop with all its parts. */
final class Shop implements AutoCloseable {
    final Catalogue catalogue;
    final Warehouse warehouse;
    final Journal journal = new Journal();
    final Sales sales = new Sales();
    final OrderService orders;

    /** @param stock of each product, when full */
    Shop(int finishes, int things, int stock) throws IOException {
        catalogue = new Catalogue(finishes, things);
        warehouse = new Warehouse(catalogue.products(), stock);
        orders = new OrderService(catalogue, warehouse, journal, sales);
    }

    @Override
    public void close() throws IOException {
        journal.close();
    }
}
