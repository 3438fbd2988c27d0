package programs;

import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.LexerInterpreter;
import org.antlr.v4.runtime.ParserInterpreter;

/** ANTLR: reads a grammar with its own parser, builds automata from the grammar, and parses with them. */
public final class Grammar implements Driver.Workload {
    private static final String CALCULATOR = """
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
    public String work() throws Exception {
        var grammar = new org.antlr.v4.tool.Grammar(CALCULATOR);
        StringBuilder program = new StringBuilder();
        for (int i = 0; i < 20; i++) program.append("x = (a + ").append(i).append(" * b) / f(c, 2.5, d - ").append(i).append(");\n");
        program.append("x = = 3;");
        LexerInterpreter lexer = grammar.createLexerInterpreter(CharStreams.fromString(program.toString()));
        ParserInterpreter parser = grammar.createParserInterpreter(new CommonTokenStream(lexer));
        parser.removeErrorListeners();
        String tree = parser.parse(grammar.getRule("program").index).toStringTree(parser);
        return tree.hashCode() + " " + parser.getNumberOfSyntaxErrors();
    }
}
