package shop;

/** A voucher is "V" and a percentage. Customers type them wrong; that costs them only the discount. */
final class VoucherRule implements PriceRule {
    @Override
    public long apply(OrderLine line, long cents) {
        Call.VOUCHER_APPLY.hit();
        if (line.voucher == null) return cents;
        try {
            return cents * (100 - value(line.voucher)) / 100;
        } catch (IllegalArgumentException invalid) {
            return cents;
        }
    }

    private static int value(String voucher) {
        Call.VOUCHER_VALUE.hit();
        if (!voucher.startsWith("V")) throw new IllegalArgumentException("no voucher: " + voucher);
        return Integer.parseInt(voucher.substring(1)); // NumberFormatException is one of those, too
    }
}
