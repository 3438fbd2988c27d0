package java.lang;

/** A thread of jfluid. Its calls are in no profile. */
public abstract class JFluid1Guest extends Thread {
    protected JFluid1Guest(String name) {
        super(null, null, name, 0, false);
    }
}
