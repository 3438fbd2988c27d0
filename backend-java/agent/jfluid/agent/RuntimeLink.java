package jfluid.agent;

/**
 * Has the JVM note, for each loader of instrumented classes, which classes those are that probes name. Else
 * the first probe in a class of that loader would make the JVM ask the loader, which allocates, and with a
 * full heap the application's method would end with an OutOfMemoryError out of a call that it does not
 * have. Once a loader has answered it is never asked again (JVMS 5.3: initiating loader), for whatever class.
 */
final class RuntimeLink {
    private static final String[] PROBES = {"java.lang.JFluid1"};
    private static final String[] PROBES_OF_SAMPLING = {"java.lang.JFluid1", "java.lang.JFluid1Samples"};

    private volatile String[] classes = PROBES;
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

    /** The session samples: its probes are in a class of their own. */
    void sampling() {
        classes = PROBES_OF_SAMPLING;
        known.clear();
    }

    void dropGone() {
        known.takeGone();
    }

    private void ask(ClassLoader loader) {
        if (known.get(loader) != null) {
            return;
        }
        try {
            for (String name : classes) {
                Class.forName(name, false, loader);
            }
            known.get(loader, () -> true);
        } catch (Throwable itsOwnAffair) {
            // A loader may throw what it likes, and memory may be short now: the first probe will ask again.
        }
    }
}
