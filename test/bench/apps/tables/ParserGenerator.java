package tables;

import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.LexerInterpreter;
import org.antlr.v4.runtime.ParserInterpreter;
import org.antlr.v4.tool.Grammar;

/** jack: ANTLR reads a grammar, makes automata of it, and parses a text by them. */
public final class ParserGenerator implements Driver.Program {
    private static final String GRAMMAR = """
        grammar Calculator;
        program : statement+ EOF ;
        statement : NAME '=' expression ';' | expression ';' ;
        expression : expression ('*' | '/') expression | expression ('+' | '-') expression
          | '(' expression ')' | NAME '(' (expression (',' expression)*)? ')' | NAME | NUMBER ;
        NAME : [a-z]+ ;
        NUMBER : [0-9]+ ('.' [0-9]+)? ;
        SPACE : [ \\t\\n]+ -> skip ;
        """;

    @Override
    public long run() throws Exception {
        long sum = 0;
        for (int i = 0; i < 8; i++) sum = sum * 31 + once();
        return sum;
    }

    private static long once() throws Exception {
        Grammar grammar = new Grammar(GRAMMAR);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 40; i++) text.append("x = (a + ").append(i).append(" * b) / f(c, 2.5, d - ").append(i).append(");\n");
        LexerInterpreter lexer = grammar.createLexerInterpreter(CharStreams.fromString(text.toString()));
        ParserInterpreter parser = grammar.createParserInterpreter(new CommonTokenStream(lexer));
        return parser.parse(grammar.getRule("program").index).toStringTree(parser).hashCode();
    }
}
