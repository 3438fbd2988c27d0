package jfluid.agent;

/**
 * Has the JVM note, for each loader of instrumented classes, which classes those are that probes name. Else
 * the first probe in a class of that loader would make the JVM ask the loader, which allocates, and with a
 * full heap the application's method would end with an OutOfMemoryError out of a call that it does not
 * have. It would also wait for whatever lock the loader takes, or the JVM for it: who holds that may be waiting for
 * the very thread that has come to a probe. Once a loader has answered it is never asked again (JVMS 5.3:
 * initiating loader), for whatever class; before it has, its classes get no probes.
 */
final class RuntimeLink {
    private static final String[] PROBES = {"java.lang.JFluid1"};
    private static final String[] PROBES_OF_SAMPLING = {"java.lang.JFluid1", "java.lang.JFluid1Samples"};
    /** So long a loader that is busy is waited for, once. */
    private static final long BUSY_NANOS = 200_000_000L;
    private static final String BUSY = "its class loader is locked by a thread that does something else";

    /** Where memory or stack was short it is asked again, but not for each of its classes. */
    private static final long AGAIN_NANOS = 1_000_000_000L;
    /** Memory or stack is short now. */
    private static final String NOT_NOW = "there was no memory or stack to ask its class loader";
    /** Of loaders that did not answer in time, in whatever session: one thread waits for each. Null if all have answered. */
    private static PerLoader<Answer> late;

    private volatile String[] classes = PROBES;
    private final PerLoader<Answer> answers = new PerLoader<>();

    /** Of a loader. */
    private static final class Answer {
        /** Why its classes cannot have probes; null if they can. */
        volatile String problem = BUSY;
        private final long since = System.nanoTime();
    }

    /** Asks a loader, and waits for its lock as long as it takes. */
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

    /** @return why it does not find them; null if it does */
    private static String ask(ClassLoader loader, String[] classes) {
        try {
            for (String name : classes) {
                Class.forName(name, false, loader);
            }
            return null;
        } catch (VirtualMachineError noMemoryNorStack) {
            return NOT_NOW;
        } catch (Throwable itsOwnAffair) {
            return "its class loader does not find the probes: " + itsOwnAffair.getClass().getName();
        }
    }

    /**
     * Before a class of `loader` is redefined. On a thread of ours, which waits for a moment, but for no lock: that of a loader
     * may be held by a thread that waits for us.
     *
     * @return why its classes cannot have probes, or null
     */
    String problemOf(ClassLoader loader) {
        if (loader == null) {
            return null;
        }
        Answer known = answers.get(loader);
        if (known == null || known.problem == NOT_NOW && System.nanoTime() - known.since > AGAIN_NANOS) {
            Answer open = late == null ? null : late.get(loader);
            if (open != null && open.problem == BUSY) {
                return BUSY;
            }
            known = new Answer();
            Question question = new Question(loader, classes, known);
            try {
                question.start();
            } catch (OutOfMemoryError noThread) {
                return "there is no thread to ask its class loader";
            }
            answers.put(loader, known);
            long end = System.nanoTime() + BUSY_NANOS;
            while (question.isAlive() && System.nanoTime() - end < 0) {
                Pause.nanos(50_000L);
            }
            if (known.problem == BUSY) {
                late = late == null ? new PerLoader<>() : late;
                late.put(loader, known);
            }
        }
        return known.problem;
    }

    /** Whether the present thread asks a loader: what is loaded by the way is nobody's call. */
    static boolean isAsking() {
        return Thread.currentThread() instanceof Question;
    }

    /**
     * On a thread that loads a class, in the load hook: it has what locks the loader wants already, as for
     * the superclass that the JVM asks for next.
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

    /** The session samples: its probes are in a class of their own. */
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
