package java.lang;

/** A thread of ours. What it calls is nobody's doing, and in no profile. */
public abstract class JFluid1Guest extends Thread {
    protected JFluid1Guest(String name) {
        super(null, null, name, 0, false);
    }
}
