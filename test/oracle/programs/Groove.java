package programs;

import groovy.lang.GroovyShell;
import org.codehaus.groovy.control.CompilerConfiguration;

/** Groovy: compiles a script and runs it, through call sites linked by method handles. */
public final class Groove implements Driver.Workload {
    private static final String SOURCE = """
        class Account { String owner; int balance
          def deposit(int n) { balance += n; this }
          def propertyMissing(String name) { "no $name" } }
        def accounts = (1..5).collect { new Account(owner: "o$it", balance: it * 10) }
        accounts*.deposit(5)
        def sum = accounts.findAll { it.balance > 20 }.inject(0) { a, b -> a + b.balance }
        def text = accounts.collectEntries { [(it.owner): it.balance] }.sort { -it.value }.toString()
        try { accounts[0].nothing() } catch (MissingMethodException e) { text += e.method }
        "$sum $text ${accounts[1].colour}"
        """;

    @Override
    public String work() {
        return String.valueOf(new GroovyShell(new CompilerConfiguration()).evaluate(SOURCE, "Script1.groovy"));
    }
}
