package shop;

import java.util.List;

final class Receipt {
    final int number;
    final String customer;
    final List<PricedLine> lines;

    Receipt(int number, String customer, List<PricedLine> lines) {
        Call.RECEIPT_NEW.hit();
        this.number = number;
        this.customer = customer;
        this.lines = lines;
    }

    /** A table, dearest line first. */
    String text() {
        Call.RECEIPT_TEXT.hit();
        StringBuilder text = new StringBuilder("receipt " + number + " for " + customer + "\n");
        long total = 0;
        for (PricedLine each : lines) {
            pad(text, Integer.toString(each.line.quantity), 4);
            pad(text, each.line.product.name(), 20);
            pad(text, money(each.cents), 12);
            text.append('\n');
            total += each.cents;
        }
        pad(text, money(total), 36);
        return text.append('\n').toString();
    }

    private static void pad(StringBuilder text, String cell, int width) {
        Call.PAD.hit();
        for (int i = cell.length(); i < width; i++) text.append(' ');
        text.append(cell);
    }

    private static String money(long cents) {
        return cents / 100 + "." + cents / 10 % 10 + cents % 10;
    }
}
