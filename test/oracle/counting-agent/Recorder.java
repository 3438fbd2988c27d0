package counting;

/**
 * Counts calls by calling context, for each thread on its own. Called by what {@link Transformer} inserts; lives in
 * the bootstrap loader, where every class finds it.
 *
 * <p>May itself be called from any method of the JDK, so it uses nothing of it but two native methods and arrays. No
 * lock is taken except when a thread enters a root for the first time.
 *
 * <p>What a method keeps on its own frame is the context of its caller, or -1 while nothing is counted. So a method
 * that is left, however that happens, leaves the right context behind.
 */
public final class Recorder {
    private Recorder() {}

    public static final class Tree {
        final Thread thread;
        /** Context of the method that runs now; 0 outside of roots. */
        int current;
        /** Above 0 while this thread works for the agent itself. */
        int suspended;
        /** Outermost calls of roots so far, and the context that stands for the last of them. */
        int runs;
        int run;

        public int size = 1;
        /** Of each context: its caller's, its method (-n for the n-th run), its calls. */
        public int[] parent = new int[1024];
        public int[] method = new int[1024];
        public long[] calls = new long[1024];
        /** Open addressing: (parent, method) to the context, 0 for none. */
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

    /** Threads that have entered a root; replaced when one is added. */
    public static volatile Tree[] trees = {};

    private static Tree tree() {
        Thread thread = Thread.currentThread();
        for (Tree it : trees) if (it.thread == thread) return it;
        return null;
    }

    /** @return what {@link #exit} and {@link #resume} want */
    public static int enter(int id) {
        Tree tree = tree();
        if (tree == null || tree.current == 0 || tree.suspended != 0) return -1;
        int caller = tree.current;
        count(tree, caller, id);
        return caller;
    }

    /** The same for a root. */
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

    /** An exception has been caught by the method: callees may have ended without a word. */
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

    /** Nothing is counted in this thread until {@link #unsuspend}: the agent works in it. */
    public static void suspend() {
        Tree tree = tree();
        if (tree != null) tree.suspended++;
    }

    public static void unsuspend() {
        Tree tree = tree();
        if (tree != null) tree.suspended--;
    }
}
