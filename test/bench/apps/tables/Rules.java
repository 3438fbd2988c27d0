package tables;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** jess: rules whose conditions are patterns with variables. A new fact makes rules fire, until there is no new fact. */
public final class Rules implements Driver.Program {
    private static final int PEOPLE = 60;

    @Override
    public long run() {
        Engine engine = new Engine();
        engine.rule(new Rule(fact("ancestor", "?a", "?b"), fact("parent", "?a", "?b")));
        engine.rule(new Rule(fact("ancestor", "?a", "?c"), fact("parent", "?a", "?b"), fact("ancestor", "?b", "?c")));
        engine.rule(new Rule(fact("sibling", "?a", "?b"), fact("parent", "?p", "?a"), fact("parent", "?p", "?b")));
        engine.rule(new Rule(fact("cousin", "?a", "?b"), fact("parent", "?p", "?a"), fact("sibling", "?p", "?q"), fact("parent", "?q", "?b")));
        for (int i = 1; i < PEOPLE; i++) engine.tell(fact("parent", "p" + (i - 1) / 2, "p" + i));
        long fired = engine.run();
        long known = 0;
        for (int i = 0; i < 40; i++) known += engine.ask(fact("cousin", "p" + i, "?who")) + engine.ask(fact("ancestor", "?who", "p" + i));
        return fired * 31 + known;
    }

    private static Fact fact(String... terms) {
        return new Fact(terms);
    }

    record Fact(List<String> terms) {
        Fact(String... terms) {
            this(List.of(terms));
        }

        String name() {
            return terms.get(0);
        }

        Bindings match(Fact fact, Bindings bindings) {
            if (terms.size() != fact.terms.size()) return null;
            Bindings result = bindings;
            for (int i = 0; i < terms.size() && result != null; i++) result = result.unify(terms.get(i), fact.terms.get(i));
            return result;
        }

        Fact with(Bindings bindings) {
            String[] found = new String[terms.size()];
            for (int i = 0; i < found.length; i++) found[i] = bindings.resolve(terms.get(i));
            return new Fact(found);
        }
    }

    /** Values of variables: a list that grows at its head. */
    static final class Bindings {
        static final Bindings NONE = new Bindings(null, null, null);
        private final String variable;
        private final String value;
        private final Bindings rest;

        Bindings(String variable, String value, Bindings rest) {
            this.variable = variable;
            this.value = value;
            this.rest = rest;
        }

        Bindings unify(String term, String value) {
            String known = resolve(term);
            if (!isVariable(known)) return known.equals(value) ? this : null;
            return new Bindings(term, value, this);
        }

        String resolve(String term) {
            if (!isVariable(term)) return term;
            for (Bindings it = this; it != NONE; it = it.rest) if (it.variable.equals(term)) return it.value;
            return term;
        }

        static boolean isVariable(String term) {
            return term.charAt(0) == '?';
        }
    }

    record Rule(Fact conclusion, Fact... conditions) {}

    static final class Engine {
        private final List<Rule> rules = new ArrayList<>();
        private final Map<String, List<Fact>> facts = new HashMap<>();
        private final Set<Fact> known = new HashSet<>();
        private final ArrayDeque<Fact> agenda = new ArrayDeque<>();

        void rule(Rule rule) {
            rules.add(rule);
        }

        void tell(Fact fact) {
            if (!known.add(fact)) return;
            facts.computeIfAbsent(fact.name(), k -> new ArrayList<>()).add(fact);
            agenda.add(fact);
        }

        long run() {
            long fired = 0;
            for (Fact fact = agenda.poll(); fact != null; fact = agenda.poll()) {
                for (Rule rule : rules) fired += fire(rule, fact);
            }
            return fired * 31 + known.size();
        }

        /** Returns the number of facts that match a pattern. */
        int ask(Fact pattern) {
            int found = 0;
            for (Fact fact : facts.getOrDefault(pattern.name(), List.of())) if (pattern.match(fact, Bindings.NONE) != null) found++;
            return found;
        }

        private long fire(Rule rule, Fact fact) {
            long fired = 0;
            for (int i = 0; i < rule.conditions().length; i++) {
                if (!rule.conditions()[i].name().equals(fact.name())) continue;
                Bindings bindings = rule.conditions()[i].match(fact, Bindings.NONE);
                if (bindings != null) fired += join(rule, 0, i, bindings);
            }
            return fired;
        }

        private long join(Rule rule, int at, int fixed, Bindings bindings) {
            if (at == rule.conditions().length) {
                tell(rule.conclusion().with(bindings));
                return 1;
            }
            if (at == fixed) return join(rule, at + 1, fixed, bindings);
            long fired = 0;
            List<Fact> candidates = facts.getOrDefault(rule.conditions()[at].name(), List.of());
            for (int i = 0, n = candidates.size(); i < n; i++) {
                Bindings more = rule.conditions()[at].match(candidates.get(i), bindings);
                if (more != null) fired += join(rule, at + 1, fixed, more);
            }
            return fired;
        }
    }
}
