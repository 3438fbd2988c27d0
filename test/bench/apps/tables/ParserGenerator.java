package tables;

import programs.Grammar;

/** jack: ANTLR reads a grammar, makes automata of it, and parses a text by them. */
public final class ParserGenerator implements Driver.Program {
    private final Grammar grammar = new Grammar();

    @Override
    public long run() throws Exception {
        long sum = 0;
        for (int i = 0; i < 16; i++) sum = sum * 31 + grammar.work().hashCode();
        return sum;
    }
}
