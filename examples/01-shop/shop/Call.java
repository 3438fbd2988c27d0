package shop;

import java.util.StringJoiner;

/**
 * How often a method was called, counted by hand: its first line is {@code Call.X.hit()}.
 *
 * Only {@link SelfCheck} switches the counters on, for the one thread it runs in; a profile of that
 * run must show the same numbers. Every invocation counts, also one that ends with an exception.
 */
enum Call {
    PROCESS("shop.OrderService.process(Lshop/Order;)Lshop/Receipt;"),
    EXPAND("shop.OrderService.expand(Lshop/Order;)Ljava/util/Map;"),
    PRICE_ITEM("shop.OrderService.lambda$priced$0(Lshop/Order;Ljava/util/Map$Entry;)Lshop/PricedLine;"),
    PRODUCT_EXPAND("shop.Product.expand(ILjava/util/Map;)V"),
    BUNDLE_EXPAND("shop.Bundle.expand(ILjava/util/Map;)V"),
    PRODUCT_EQUALS("shop.Product.equals(Ljava/lang/Object;)Z"),
    PRODUCT_HASH("shop.Product.hashCode()I"),
    FIND("shop.Catalogue.find(Ljava/lang/String;)Lshop/Sellable;"),
    CLOSEST("shop.Suggestions.closest(Ljava/lang/String;)Lshop/Sellable;"),
    NORMALISE("shop.Suggestions.normalise(Ljava/lang/String;)Ljava/lang/String;"),
    DISTANCE("shop.EditDistance.between(Ljava/lang/String;Ljava/lang/String;)I"),
    DISTANCE_ROW("shop.EditDistance.row(Ljava/lang/String;C[II)[I"),
    RESERVE("shop.Warehouse.reserve(Ljava/util/Map;)V"),
    TAKE("shop.Warehouse.take(Lshop/Product;I)V"),
    PUT_BACK("shop.Warehouse.putBack(Lshop/Product;I)V"),
    OUT_OF_STOCK("shop.OutOfStock.<init>(Lshop/Product;I)V"),
    UNKNOWN_PRODUCT("shop.UnknownProduct.<init>(Ljava/lang/String;)V"),
    REJECTED("shop.Rejected.<init>(Ljava/lang/String;)V"),
    PRICE("shop.Pricing.price(Lshop/OrderLine;)J"),
    UNIT_PRICE("shop.Pricing.unitPrice(Lshop/OrderLine;)J"),
    DISCOUNT_APPLY("shop.Discount.apply(Lshop/OrderLine;J)J"),
    QUANTITY_PERCENT("shop.QuantityDiscount.percent(Lshop/OrderLine;)I"),
    CATEGORY_PERCENT("shop.CategoryDiscount.percent(Lshop/OrderLine;)I"),
    VOUCHER_APPLY("shop.VoucherRule.apply(Lshop/OrderLine;J)J"),
    VOUCHER_VALUE("shop.VoucherRule.value(Ljava/lang/String;)I"),
    ROUNDING_APPLY("shop.Rounding.apply(Lshop/OrderLine;J)J"),
    IS_WITHIN("shop.Category.isWithin(Ljava/lang/String;)Z"),
    CATEGORY_SIZE("shop.Category.size()I"),
    CATEGORY_VISIT("shop.Category.visit(Ljava/util/function/Consumer;)V"),
    SEARCH_VISIT("shop.Search.lambda$find$0(Ljava/lang/String;Ljava/util/List;Lshop/Category;)V"),
    KEY_EQUALS("shop.PriceKey.equals(Ljava/lang/Object;)Z"),
    KEY_HASH("shop.PriceKey.hashCode()I"),
    CACHE_ELDEST("shop.PriceCache.removeEldestEntry(Ljava/util/Map$Entry;)Z"),
    LINE_NEW("shop.OrderLine.<init>(Lshop/Product;ILjava/lang/String;)V"),
    PRICED_NEW("shop.PricedLine.<init>(Lshop/OrderLine;J)V"),
    PRICED_COMPARE("shop.PricedLine.compareTo(Lshop/PricedLine;)I"),
    RECEIPT_NEW("shop.Receipt.<init>(ILjava/lang/String;Ljava/util/List;)V"),
    RECEIPT_TEXT("shop.Receipt.text()Ljava/lang/String;"),
    PAD("shop.Receipt.pad(Ljava/lang/StringBuilder;Ljava/lang/String;I)V"),
    APPEND("shop.Journal.append(Lshop/Receipt;)V"),
    READ("shop.Journal.read(I)Ljava/lang/String;"),
    SALES_ADD("shop.Sales.add(Lshop/PricedLine;)V"),
    SALES_TOP("shop.Sales.top(I)Ljava/util/List;"),
    SALES_COMPARE("shop.Sales.lambda$best$0(Ljava/util/Map$Entry;Ljava/util/Map$Entry;)I");

    /** class.method(descriptor), as the JVM has it. */
    final String method;

    private long calls;
    private static volatile Thread counted;

    Call(String method) {
        this.method = method;
    }

    void hit() {
        if (Thread.currentThread() == counted) calls++;
    }

    /** Starts at 0, for the current thread. */
    static void start() {
        for (Call call : values()) call.calls = 0;
        counted = Thread.currentThread();
    }

    static void stop() {
        counted = null;
    }

    static String json() {
        StringJoiner json = new StringJoiner(",\n  ", "{\n  ", "\n}");
        for (Call call : values()) json.add("\"" + call.method + "\": " + call.calls);
        return json.toString();
    }
}
