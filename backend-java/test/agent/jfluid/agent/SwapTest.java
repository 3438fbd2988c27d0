package jfluid.agent;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

/** Which thread restores the classes if a redefinition ends after its session. */
final class SwapTest {
    private static final Class<?>[] IN_JVM = {String.class, Integer.class};

    private static Swap swap() {
        Swap swap = new Swap();
        swap.idOf.put(String.class, 1);
        swap.idOf.put(Integer.class, 2);
        swap.idOf.put(Long.class, 3);
        return swap;
    }

    static void aFinishedSwapHoldsNothing() {
        Swap swap = swap();
        that(swap.enter(IN_JVM), "the JVM may be asked");
        swap.leave();
        equal(null, swap.end());
        that(!swap.abandon(), "it was over");
        that(!swap.holds(String.class), "nothing is held");
        equal(0, swap.held().length);
    }

    static void anAbandonedSwapHoldsTheClassesInTheJvm() {
        Swap swap = swap();
        that(swap.enter(IN_JVM), "the JVM may be asked");
        that(!swap.isAbandoned(), "it runs");
        that(swap.abandon(), "it still runs");
        that(swap.isAbandoned(), "its thread asks no further class loader");
        that(swap.holds(String.class), "in the JVM");
        that(!swap.holds(Long.class), "not in the JVM");
        that(!swap.holds(Object.class), "none of this redefinition");
        equal(2, swap.held().length);
        swap.leave(); // the redefinition call has ended: its thread restores these classes
        that(!swap.enter(new Class<?>[] {Long.class}), "the JVM is not asked any more");
        equal(2, swap.held().length);
        that(swap.end() == IN_JVM, "its thread restores them");
    }

    static void aSwapAbandonedBetweenTwoCallsHoldsNothing() {
        Swap swap = swap();
        swap.enter(IN_JVM);
        swap.leave();
        that(swap.abandon(), "it still runs");
        equal(0, swap.held().length);
        equal(null, swap.end());
    }
}
