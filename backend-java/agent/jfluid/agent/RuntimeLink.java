package jfluid.agent;

/**
 * Has the JVM note, for each loader of instrumented classes, which class its `java.lang.JFluid1` is. Else
 * the first probe in a class of that loader would make the JVM ask the loader, which allocates, and with a
 * full heap the application's method would end with an OutOfMemoryError out of a call that it does not
 * have. Once a loader has answered it is never asked again (JVMS 5.3: initiating loader), for whatever class.
 */
final class RuntimeLink {
    private static final String RUNTIME = "java.lang.JFluid1";

    private final PerLoader<Boolean> known = new PerLoader<>();

    /**
     * On the thread of the redefinition, before a class of `loader` is redefined. A loader that is not parallel capable
     * is locked by the JVM while it works, perhaps by a thread that waits for us: it is left alone, and asked
     * by the first probe.
     */
    void beforeRedefinition(ClassLoader loader) {
        if (loader != null && loader.isRegisteredAsParallelCapable()) {
            ask(loader);
        }
    }

    /**
     * On a thread that loads a class, in the load hook: it has what locks the loader wants already, as for
     * the superclass that the JVM asks for next.
     */
    void whileLoading(ClassLoader loader) {
        if (loader != null) {
            ask(loader);
        }
    }

    void dropGone() {
        known.takeGone();
    }

    private void ask(ClassLoader loader) {
        if (known.get(loader) != null) {
            return;
        }
        try {
            Class.forName(RUNTIME, false, loader);
            known.get(loader, () -> true);
        } catch (Throwable itsOwnAffair) {
            // A loader may throw what it likes, and memory may be short now: the first probe will ask again.
        }
    }
}
