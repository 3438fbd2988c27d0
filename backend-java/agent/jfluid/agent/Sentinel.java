package jfluid.agent;

/**
 * The class whose retransformation is made to fail on purpose, last in a batch: HotSpot shows the
 * transformer the bytes of every class before it, then rejects the whole request. So class bytes are
 * read and nothing is redefined.
 */
final class Sentinel {
    private Sentinel() {}
}
