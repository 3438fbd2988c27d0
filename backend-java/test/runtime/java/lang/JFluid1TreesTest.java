package java.lang;

import static java.lang.JFluid1Layout.*;
import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

/** Trees of threads in the buffer: counts of calls, missing exits, and the release of blocks. */
final class JFluid1TreesTest {
    private static final int RECORDS = BLOCK_BYTES / RECORD_BYTES - 1;

    private static TestSession session(int blocks) {
        TestSession session = new TestSession(1000, 4, true, blocks);
        session.ready(1, 2, 3, 4);
        return session;
    }

    private static void root(Runnable body) {
        JFluid1.countRootEntry(1);
        body.run();
        JFluid1.countRootExit(5, 1);
    }

    private static void call(int id, int executed, Runnable body) {
        JFluid1.countEntry(id);
        body.run();
        JFluid1.countExit(executed, id);
    }

    private static String own(TestSession session) {
        return session.tree(session.self().number);
    }

    static void aCallAddsToTheRecordOfItsContext() {
        try (TestSession session = session(2)) {
            for (int i = 0; i < 2; i++) {
                root(() -> {
                    call(2, 10, () -> call(3, 1, () -> {}));
                    call(3, 100, () -> {});
                    call(2, 10, () -> {});
                });
            }
            equal("1:2x10(2:4x40(3:2x2())3:2x200())", own(session));
        }
    }

    static void aCallOfALeafIsToldByOneProbe() {
        try (TestSession session = session(2)) {
            JFluid1.countLeaf(7, 2); // a call outside root calls
            for (int i = 0; i < 2; i++) {
                root(() -> {
                    JFluid1.countLeaf(7, 2);
                    call(3, 10, () -> JFluid1.countLeaf(1, 2));
                    JFluid1.countLeaf(0, 4);
                    JFluid1.countLeaf(7, 2);
                });
            }
            equal("1:2x10(2:4x28()3:2x20(2:2x2())4:2x0())", own(session));
            equal("adjust root 1>0 1<30 root 1>30 1<60", session.written());
        }
    }

    static void eventsTellOfTheOutermostRootAndOfAllItHasExecuted() {
        try (TestSession session = session(2)) {
            root(() -> call(2, 10, () -> root(() -> {})));
            equal("adjust root 1>0 1<20", session.written());
            equal("1:1x5(2:1x10(1:1x5()))", own(session));
        }
    }

    static void nothingIsCountedOutsideOfRoots() {
        try (TestSession session = session(2)) {
            call(2, 10, () -> {});
            root(() -> {});
            call(2, 10, () -> {});
            equal("1:1x5()", own(session));
        }
    }

    static void calleesAreFoundInWhateverOrderTheyAreCalled() {
        try (TestSession session = session(2)) {
            root(() -> {
                for (int i = 0; i < 100; i++) {
                    int id = 2 + i * i % 3;
                    call(id, 0, () -> call(4, 0, () -> {}));
                }
            });
            equal("1:1x5(2:34x0(4:34x0())3:66x0(4:66x0()))", own(session));
        }
    }

    static void whatHasNoExitEndsWithTheNextOneOutside() {
        try (TestSession session = session(2)) {
            root(() -> {
                call(2, 7, () -> {
                    JFluid1.countEntry(3);
                    JFluid1.countEntry(4); // no exit event
                });
                call(4, 1, () -> {});
                JFluid1.countExit(9, 3); // an exit without an entry
                call(4, 1, () -> {});
            });
            equal("1:1x5(2:1x7(3:1x0(4:1x0()))4:2x2())", own(session));
        }
    }

    static void aHandlerEndsWhatItsMethodHasCalled() {
        try (TestSession session = session(2)) {
            root(() -> call(2, 7, () -> {
                JFluid1.countEntry(3);
                JFluid1.countResume(2);
                call(4, 1, () -> {});
            }));
            equal("1:1x5(2:1x7(3:1x0()4:1x1()))", own(session));
        }
    }

    static void anExceptionEndsAMethodAndARoot() {
        try (TestSession session = session(2)) {
            Exception thrown = new Exception();
            for (int i = 0; i < 2; i++) {
                JFluid1.countRootEntry(1);
                JFluid1.countEntry(2);
                that(JFluid1.countThrown(thrown, 7, 2) == thrown, "the exception goes on");
                JFluid1.countRootThrown(thrown, 5, 1);
            }
            equal("1:2x10(2:2x14())", own(session));
            equal("adjust root 1>0 threw:0 1<12 root 1>12 threw:0 1<24",
                    session.written().replaceAll("name:\\d+ ", ""));
        }
    }

    static void aConstructorHandsOverBeforeItsSuperclassMayThrow() {
        try (TestSession session = session(2)) {
            root(() -> {
                JFluid1.countEntry(2);
                equal(0, JFluid1.countCall(8));
                JFluid1.countResume(1);
            });
            equal("1:1x5(2:1x8())", own(session));
        }
    }

    static void withoutABlockTheRestOfTheRootCallIsAGap() {
        try (TestSession session = session(2)) {
            session.blocks(1 | Integer.MIN_VALUE); // the client adds no more blocks
            root(() -> nested(4, RECORDS)); // two more records than fit
            equal(1, JFluid1Session.gaps());
            that(!session.self().active, "the thread is outside");
            session.blocks(2); // the client adds a block
            root(() -> nested(4, RECORDS));
            equal(1, JFluid1Session.gaps());
            that(own(session).startsWith("1:2x5(4:2x0(4:2x0("), "a root, and all below it");
        }
    }

    static void aRootWithoutABlockIsNotToldAndItsThreadGivesItsChunkBack() {
        try (TestSession session = session(2)) {
            session.blocks(Integer.MIN_VALUE); // no block is free, and the client adds none
            root(() -> call(2, 1, () -> {}));
            equal(1, JFluid1Session.gaps());
            that(!session.written().contains(">"), "no call begins");
            equal(CHUNK_IDLE, session.state(session.self().chunk));
            session.blocks(2);
            root(() -> call(2, 1, () -> {}));
            equal("1:1x5(2:1x1())", own(session));
        }
    }

    static void aThreadWaitsUntilTheClientHasMadeMoreBlocks() throws Exception {
        try (TestSession session = session(2)) {
            session.live();
            session.blocks(1);
            int before = session.header(RING_STARVING);
            Thread client = new Thread(() -> {
                while (session.header(RING_STARVING) == before) {
                    Thread.onSpinWait();
                }
                session.blocks(2);
            });
            client.start();
            root(() -> nested(4, RECORDS));
            client.join();
            equal(0, JFluid1Session.gaps());
            equal(RECORDS + 1, own(session).split(":1x", -1).length - 1);
        }
    }

    static void whoIsInAProbeWhenTheSessionEndsGoesOnInItsBuffer() {
        try (TestSession session = session(2)) {
            JFluid1.countRootEntry(1);
            JFluid1Threads.ThreadInfo ti = session.self();
            JFluid1Session.disable();
            JFluid1Session.end(false); // the buffer is kept for the thread
            try (TestSession next = session(2)) {
                goOn(ti);
                equal("", next.tree(ti.number));
            }
            try (TestSession without = new TestSession(1000, 4)) {
                goOn(ti);
            }
            equal("1:1x0(2:2x6(3:2x2()))", session.tree(ti.number));
        }
    }

    private static void goOn(JFluid1Threads.ThreadInfo ti) {
        JFluid1Trees.enter(ti, ti.record, 2);
        JFluid1Trees.enter(ti, ti.record, 3);
        JFluid1Trees.leave(ti, ti.record, 1, 3);
        JFluid1Trees.leave(ti, ti.record, 3, 2);
    }

    static void whereThereAreNoMoreBlocksTheyAreNotLookedForEachTime() {
        try (TestSession session = session(2)) {
            session.blocks(1 | Integer.MIN_VALUE);
            root(() -> nested(4, RECORDS));
            int before = session.header(RING_STARVING);
            for (int i = 0; i < 1000; i++) {
                root(() -> nested(4, RECORDS));
            }
            equal(1001, JFluid1Session.gaps());
            equal(before, session.header(RING_STARVING)); // no thread waits for a block
        }
    }

    private static void nested(int id, int depth) {
        if (depth > 0) {
            call(id, 0, () -> nested(id, depth - 1));
        }
    }

    static void blocksOfAThreadThatHasEndedAreOver() throws Exception {
        try (TestSession session = session(3)) {
            root(() -> {});
            int[] number = {0};
            Thread other = new Thread(() -> {
                root(() -> nested(4, RECORDS));
                number[0] = session.self().number;
            });
            other.start();
            other.join();
            equal(BLOCK_TAKEN, session.blockState(2));
            JFluid1Session.purge();
            equal(BLOCK_TAKEN, session.blockState(0));
            equal(BLOCK_OVER, session.blockState(1));
            equal(BLOCK_OVER, session.blockState(2));
            that(session.tree(number[0]).startsWith("1:1x5(4:1x0("), "it can still be read");
            session.freeBlock(1);
            session.freeBlock(2);
            Thread next = new Thread(() -> root(() -> call(2, 3, () -> {})));
            next.start();
            next.join();
            equal("1:1x5(2:1x3())", session.tree(number[0] + 1));
        }
    }
}
