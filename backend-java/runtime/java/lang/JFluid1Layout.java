package java.lang;

/**
 * Constants shared by client and target. The constants are documented in src/events/ring-layout.ts, event-layout.ts and wait-ids.ts; a test
 * compares both definitions. The compiler inlines these constants, so this class is not loaded at run time.
 */
public final class JFluid1Layout {
    private JFluid1Layout() {}

    // ring-layout.ts
    public static final int RING_HEARTBEAT = 16;
    public static final int RING_ENDED = 20;
    public static final int RING_STARVING = 24;
    public static final int RING_READER_PROCESS = 28;
    public static final int RING_READER_THREAD = 32;
    public static final int RING_READER_SINCE = 36;
    public static final int RING_GAPS = 40;
    static final int RING_BLOCKS = 44;
    public static final int RING_STATES = 4096;
    public static final int ENDED_STOPPED = 1;
    public static final int ENDED_SILENT = 2;
    public static final int ENDED_DISMISSED = 3;
    public static final int CHUNK_FREE = 0;
    static final int CHUNK_BUSY = 1;
    static final int CHUNK_IDLE = 2;
    static final int CHUNK_FULL = 3;
    public static final int CHUNK_WRITER = 0;
    public static final int CHUNK_SEQUENCE = 4;
    public static final int CHUNK_EPOCH = 8;
    public static final int CHUNK_EVENTS = 16;

    // event-layout.ts
    static final int TICK_BITS = 40;
    static final int EVENT_BYTES = 8;
    static final int THREAD_NUMBER_BITS = 24;
    static final long KIND_CATCH = 0L << 62;
    static final long KIND_ENTER = 1L << 62;
    static final long KIND_EXIT = 2L << 62;
    static final long KIND_CONTROL = 3L << 62;
    static final long CONTROL_EPOCH = KIND_CONTROL | 1L << TICK_BITS;
    static final long CONTROL_THREAD = KIND_CONTROL | 2L << TICK_BITS;
    static final long CONTROL_ADJUST = KIND_CONTROL | 3L << TICK_BITS;
    static final long CONTROL_SUSPEND = KIND_CONTROL | 4L << TICK_BITS;
    static final long CONTROL_RESUME = KIND_CONTROL | 5L << TICK_BITS;
    static final long CONTROL_ROOT = KIND_CONTROL | 6L << TICK_BITS;
    static final long CONTROL_SUBMIT = KIND_CONTROL | 7L << TICK_BITS;
    static final long CONTROL_BEGIN = KIND_CONTROL | 8L << TICK_BITS;
    static final long CONTROL_DROP = KIND_CONTROL | 9L << TICK_BITS;
    static final long CONTROL_UNWIND = KIND_CONTROL | 10L << TICK_BITS;
    static final long CONTROL_SAMPLE = KIND_CONTROL | 11L << TICK_BITS;
    static final long CONTROL_NAME = KIND_CONTROL | 12L << TICK_BITS;
    static final long CONTROL_ALLOCATED = KIND_CONTROL | 13L << TICK_BITS;
    static final long CONTROL_TRACK = KIND_CONTROL | 15L << TICK_BITS;
    static final long CONTROL_OVERFLOW = KIND_CONTROL | 16L << TICK_BITS;
    static final long CONTROL_VALUE = KIND_CONTROL | 17L << TICK_BITS;
    static final long CONTROL_THREW = KIND_CONTROL | 18L << TICK_BITS;
    static final int VALUE_SLOT_SHIFT = 35;
    static final int VALUE_KIND_SHIFT = 32;
    static final int SLOT_TRACE_ID = 28;
    static final int SLOT_CALLER = 29;
    static final int SLOT_DETAILS = 31;
    static final int FIRST_THROWN = 32702;
    static final int MAX_THROWN = 64;
    static final int NAME_CLASS_SHIFT = 25;
    static final int NAME_AT_SHIFT = 16;
    static final int LONGEST_NAME = 511;
    static final int NOT_ATTRIBUTED = 32767;
    static final int FIRST_METHOD_BESIDE_CLASSES = 32768;
    static final long CONTROL_SITE = KIND_CONTROL | 14L << TICK_BITS;
    static final long TICK_MASK = (1L << TICK_BITS) - 1;

    // tree-layout.ts
    public static final int MAX_BLOCKS = 16384;
    public static final int BLOCK_BYTES = 4096;
    static final int BLOCK_FREE = 0;
    static final int BLOCK_TAKEN = 1;
    static final int BLOCK_OVER = 2;
    static final int BLOCK_THREAD = 0;
    static final int BLOCK_BEFORE = 4;
    static final int RECORD_SHIFT = 5;
    static final int RECORD_BYTES = 32;
    static final int RECORD_CALLS = 0;
    static final int RECORD_EXECUTED = 8;
    static final int RECORD_METHOD = 16;
    static final int RECORD_PARENT = 20;
    static final int RECORD_CHILD = 24;
    static final int RECORD_SIBLING = 28;

    // wait-ids.ts
    static final int WAIT_SLEEPING = 1;
    static final int WAIT_PARKED = 2;
    static final int WAIT_OTHER = 3;
    static final int FIRST_WAIT_CLASS = 4;
    static final int BLOCKED_OTHER = 128;
    static final int FIRST_BLOCKED_CLASS = 129;
    static final int FIRST_METHOD_BESIDE_WAITS = 256;
    public static final int KIND_BLOCKED = 0;
    public static final int KIND_WAITING = 1;
    public static final int KIND_PARKED = 2;
    public static final int KIND_SLEEPING = 3;
}
