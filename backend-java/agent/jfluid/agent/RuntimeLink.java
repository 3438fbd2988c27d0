package jfluid.agent;

/**
 * Resolves the probe classes once per loader of instrumented classes. Otherwise the first probe in a class of a loader would call the
 * loader, which allocates: with a full heap the application's method would end with an OutOfMemoryError from a call that it does not
 * contain. The call could also wait for a lock of the loader, whose holder may be waiting for the thread in the probe. A loader that has
 * resolved the class once is never called again (JVMS 5.3: initiating loader). Before that, its classes get no probes.
 */
final class RuntimeLink {
    private static final String[] PROBES = {"java.lang.JFluid1"};
    private static final String[] PROBES_OF_SAMPLING = {"java.lang.JFluid1", "java.lang.JFluid1Samples"};
    /** Timeout for a loader that waits for a lock; used once per loader. */
    private static final long LOCKED_LOADER_TIMEOUT_NANOS = 200_000_000L;
    /** Timeout for a loader that works, or gets no processor. Shorter than the wait of a thread for an answer, so that it gets its answer. */
    private static final long RUNNABLE_LOADER_TIMEOUT_NANOS = 800_000_000L;
    /** Minimum time between two waits that use the longer timeout: many slow loaders must not delay the answers to threads that wait. */
    private static final long LONG_WAIT_INTERVAL_NANOS = 2_000_000_000L;
    private static final String BUSY = "its class loader has not answered in time: another thread may hold its lock";

    /** Minimum time before a loader is asked again after a shortage of memory or stack. */
    private static final long RETRY_DELAY_NANOS = 1_000_000_000L;
    /** Value of `problem` after a temporary shortage of memory or stack. */
    private static final String NOT_NOW = "the JVM lacked memory or stack to query its class loader";
    /** Loaders of any session that have not answered in time. For each of these loaders one thread waits. Null until a loader is late. */
    private static PerLoader<Answer> late;

    private volatile String[] classes = PROBES;
    /** End of the last wait that used the longer timeout, as System.nanoTime(). */
    private volatile long longWaitEnd = System.nanoTime() - LONG_WAIT_INTERVAL_NANOS;
    private final PerLoader<Answer> answers = new PerLoader<>();

    /** State of a loader. */
    private static final class Answer {
        /** Why classes of the loader cannot have probes; null if they can. */
        volatile String problem = BUSY;
        private final long since = System.nanoTime();
    }

    /** Thread that asks a loader, and waits for its lock without a timeout. */
    private static final class Question extends GuestThread {
        private final ClassLoader loader;
        private final String[] classes;
        private final Answer answer;

        Question(ClassLoader loader, String[] classes, Answer answer) {
            super("jfluid-link");
            this.loader = loader;
            this.classes = classes;
            this.answer = answer;
        }

        @Override
        public void run() {
            answer.problem = ask(loader, classes);
        }
    }

    /** @return why the loader does not find the classes; null if it does */
    private static String ask(ClassLoader loader, String[] classes) {
        try {
            for (String name : classes) {
                Class.forName(name, false, loader);
            }
            return null;
        } catch (VirtualMachineError noMemoryNorStack) {
            return NOT_NOW;
        } catch (Throwable itsOwnAffair) {
            return "its class loader cannot load the probe classes: " + itsOwnAffair.getClass().getName();
        }
    }

    /**
     * Called on an agent thread before a class of `loader` is redefined. Waits with a timeout, and takes no lock: a thread that waits for the
     * agent may hold the lock of a loader.
     *
     * @return why classes of the loader cannot have probes, or null
     */
    String problemOf(ClassLoader loader) {
        if (loader == null) {
            return null;
        }
        Answer known = answers.get(loader);
        if (known == null || known.problem == NOT_NOW && System.nanoTime() - known.since > RETRY_DELAY_NANOS) {
            Answer open = late == null ? null : late.get(loader);
            if (open != null && open.problem == BUSY) {
                return BUSY;
            }
            known = new Answer();
            Question question = new Question(loader, classes, known);
            try {
                question.start();
            } catch (OutOfMemoryError noThread) {
                return "the JVM could not start a thread to query its class loader";
            }
            answers.put(loader, known);
            long begun = System.nanoTime();
            boolean mayBeLong = begun - longWaitEnd >= LONG_WAIT_INTERVAL_NANOS;
            long longest = mayBeLong ? RUNNABLE_LOADER_TIMEOUT_NANOS : LOCKED_LOADER_TIMEOUT_NANOS;
            BoundedJoin.await(question, LOCKED_LOADER_TIMEOUT_NANOS, longest);
            long end = System.nanoTime();
            if (end - begun > LOCKED_LOADER_TIMEOUT_NANOS) {
                longWaitEnd = end;
            }
            if (known.problem == BUSY) {
                late = late == null ? new PerLoader<>() : late;
                late.put(loader, known);
            }
        }
        return known.problem;
    }

    /** Returns whether the current thread asks a loader. Classes loaded by this thread do not belong to the application. */
    static boolean isAsking() {
        return Thread.currentThread() instanceof Question;
    }

    /**
     * Called on a loading thread in the load hook. That thread may call the loader: the JVM calls the loader next on the same thread, with
     * the same locks, to load the superclass.
     *
     * @return whether the class can have probes
     */
    boolean whileLoading(ClassLoader loader) {
        if (loader == null) {
            return true;
        }
        Answer known = answers.get(loader);
        if (known != null && known.problem == null) {
            return true;
        }
        String problem = ask(loader, classes);
        if (problem == NOT_NOW) {
            return false;
        }
        Answer answer = known == null ? new Answer() : known;
        answer.problem = problem;
        answers.put(loader, answer);
        return problem == null;
    }

    /** Makes this session resolve the probes of mode sample, which are in another class. */
    void sampling() {
        classes = PROBES_OF_SAMPLING;
        answers.clear();
    }

    void dropGone() {
        answers.takeGone();
        if (late != null) {
            late.takeGone();
        }
    }
}
