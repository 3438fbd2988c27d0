package tables;

/** javac: the JDK's compiler compiles a class, with and without a mistake in it, from text to bytes in memory. */
public final class Javac implements Driver.Program {
    private final programs.Javac javac = new programs.Javac();

    @Override
    public long run() throws Exception {
        long sum = 0;
        for (int i = 0; i < 10; i++) sum = sum * 31 + javac.work().hashCode();
        return sum;
    }
}
