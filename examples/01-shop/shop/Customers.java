package shop;

import java.util.List;

/** Makes up orders: the same seed, the same orders. One in five has a misspelt name. */
final class Customers {
    private final List<String> names;
    private int state;

    Customers(List<String> names, int seed) {
        this.names = names;
        state = seed;
    }

    /** A number from 0 to bound - 1 (a linear congruential generator's upper bits). */
    int next(int bound) {
        state = state * 1664525 + 1013904223;
        return (state >>> 8) % bound;
    }

    Order order() {
        String voucher = switch (next(6)) {
            case 0 -> "V10";
            case 1 -> "10V"; // not a voucher
            case 2 -> "Vten"; // nor this
            default -> null;
        };
        Order order = new Order("customer-" + next(50), voucher);
        int lines = 1 + next(4);
        for (int i = 0; i < lines; i++) order.add(1 + next(12), names.get(next(names.size())));
        int mistake = next(10);
        if (mistake < 2) order.add(1, misspelt(names.get(next(names.size()))));
        if (mistake == 2) order.add(1, "hovercraft full of eels");
        if (mistake == 3) order.add(1, "whole home");
        return order;
    }

    /** As text, for the shop's HTTP interface. */
    static String text(Order order) {
        StringBuilder text = new StringBuilder();
        order.wanted.forEach((name, quantity) -> text.append(quantity).append(' ').append(name).append('\n'));
        return text.toString();
    }

    private String misspelt(String name) {
        int at = 1 + next(name.length() - 2);
        return name.substring(0, at) + name.charAt(at) + name.substring(at);
    }
}
