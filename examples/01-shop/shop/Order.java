package shop;

import java.util.LinkedHashMap;
import java.util.Map;

/** What a customer asks for: names, as they were typed, and how many of each. */
final class Order {
    final String customer;
    /** Null if there is none. */
    final String voucher;
    final Map<String, Integer> wanted = new LinkedHashMap<>();

    Order(String customer, String voucher) {
        this.customer = customer;
        this.voucher = voucher;
    }

    Order add(int quantity, String name) {
        wanted.merge(name, quantity, Integer::sum);
        return this;
    }

    /** One line each, "2 brass kettle". */
    static Order parse(String customer, String voucher, String text) {
        Order order = new Order(customer, voucher);
        for (String line : text.split("\n")) {
            int space = line.indexOf(' ');
            if (space < 0) throw new IllegalArgumentException("not an order line: " + line);
            order.add(Integer.parseInt(line.substring(0, space)), line.substring(space + 1));
        }
        return order;
    }
}
