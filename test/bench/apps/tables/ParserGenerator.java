package tables;

import programs.Grammar;

/** jack: ANTLR reads a grammar, builds automata from it, and parses a text with them. */
public final class ParserGenerator implements Driver.Program {
    private final Grammar grammar = new Grammar();

    @Override
    public long run() throws Exception {
        long sum = 0;
        for (int i = 0; i < 16; i++) sum = sum * 31 + grammar.work().hashCode();
        return sum;
    }
}
