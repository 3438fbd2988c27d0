package counting;

/**
 * Counts calls per calling context, separately for each thread. Called by code that {@link Transformer} inserts. The bootstrap loader loads
 * it, so that every class can find it.
 *
 * <p>Any method of the JDK may call this class, so it uses only arrays and two native methods of the JDK. It takes a lock only when a
 * thread enters a root for the first time.
 *
 * <p>Each method keeps the context of its caller in a local variable, or -1 while nothing is counted. It therefore restores the correct
 * context at any kind of exit.
 */
public final class Recorder {
    private Recorder() {}

    public static final class Tree {
        final Thread thread;
        /** Context of the method that is running; 0 outside of roots. */
        int current;
        /** Above 0 while this thread executes code of the agent itself. */
        int suspended;
        /** Number of outermost root calls so far, and the context of the last of them. */
        int runs;
        int run;

        public int size = 1;
        /** Per context: the caller's context, the method (-n for the n-th run), and the number of calls. */
        public int[] parent = new int[1024];
        public int[] method = new int[1024];
        public long[] calls = new long[1024];
        /** Hash table with open addressing: (parent, method) to the context, or 0 for none. */
        int[] table = new int[4096];

        Tree(Thread thread) {
            this.thread = thread;
        }

        int child(int above, int id) {
            int mask = table.length - 1;
            int slot = hash(above, id) & mask;
            for (int node; (node = table[slot]) != 0; slot = slot + 1 & mask) {
                if (parent[node] == above && method[node] == id) return node;
            }
            int node = size++;
            if (node == parent.length) grow();
            parent[node] = above;
            method[node] = id;
            if (size * 2 > table.length) rehash();
            else table[slot] = node;
            return node;
        }

        private static int hash(int above, int id) {
            int h = above * 0x9e3779b9 + id * 0x85ebca6b;
            return h ^ h >>> 15;
        }

        private void grow() {
            int[] parents = new int[size * 2];
            int[] methods = new int[size * 2];
            long[] counts = new long[size * 2];
            for (int i = 0; i < parent.length; i++) {
                parents[i] = parent[i];
                methods[i] = method[i];
                counts[i] = calls[i];
            }
            parent = parents;
            method = methods;
            calls = counts;
        }

        private void rehash() {
            int[] bigger = new int[table.length * 2];
            int mask = bigger.length - 1;
            for (int node = 1; node < size; node++) {
                int slot = hash(parent[node], method[node]) & mask;
                while (bigger[slot] != 0) slot = slot + 1 & mask;
                bigger[slot] = node;
            }
            table = bigger;
        }
    }

    /** Threads that have entered a root. The array is replaced when a thread is added. */
    public static volatile Tree[] trees = {};

    private static Tree tree() {
        Thread thread = Thread.currentThread();
        for (Tree it : trees) if (it.thread == thread) return it;
        return null;
    }

    /** @return argument for {@link #exit} and {@link #resume} */
    public static int enter(int id) {
        Tree tree = tree();
        if (tree == null || tree.current == 0 || tree.suspended != 0) return -1;
        int caller = tree.current;
        count(tree, caller, id);
        return caller;
    }

    /** Enters a root. Otherwise like {@link #enter}. */
    public static int enterRoot(int id) {
        Tree tree = tree();
        if (tree == null) tree = add();
        if (tree.suspended != 0) return -1;
        int caller = tree.current;
        if (caller == 0) tree.run = tree.child(0, -++tree.runs);
        count(tree, caller == 0 ? tree.run : caller, id);
        return caller;
    }

    private static void count(Tree tree, int caller, int id) {
        int node = tree.child(caller, id);
        tree.calls[node]++;
        tree.current = node;
    }

    public static void exit(int caller) {
        if (caller >= 0) tree().current = caller;
    }

    /** Called when the method has caught an exception, since callees may have ended without a call of {@link #exit}. */
    public static void resume(int caller, int id) {
        if (caller < 0) return;
        Tree tree = tree();
        tree.current = tree.child(caller == 0 ? tree.run : caller, id);
    }

    private static synchronized Tree add() {
        Tree[] more = new Tree[trees.length + 1];
        for (int i = 0; i < trees.length; i++) more[i] = trees[i];
        Tree tree = new Tree(Thread.currentThread());
        more[trees.length] = tree;
        trees = more;
        return tree;
    }

    /** Stops counting in this thread until {@link #unsuspend}, since it executes code of the agent. */
    public static void suspend() {
        Tree tree = tree();
        if (tree != null) tree.suspended++;
    }

    public static void unsuspend() {
        Tree tree = tree();
        if (tree != null) tree.suspended--;
    }
}
