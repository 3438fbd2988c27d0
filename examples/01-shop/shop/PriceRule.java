package shop;

/** Changes the price of one unit. Rules are applied one after another. */
interface PriceRule {
    /** @return the new price in cents */
    long apply(OrderLine line, long cents);
}
