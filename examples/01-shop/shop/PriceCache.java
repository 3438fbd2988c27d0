package shop;

import java.util.LinkedHashMap;
import java.util.Map;

/** The prices asked for last. */
final class PriceCache extends LinkedHashMap<PriceKey, Long> {
    private static final long serialVersionUID = 1;
    private static final int CAPACITY = 64;

    PriceCache() {
        super(16, 0.75f, true);
    }

    @Override
    protected boolean removeEldestEntry(Map.Entry<PriceKey, Long> eldest) {
        Call.CACHE_ELDEST.hit();
        return size() > CAPACITY;
    }
}
