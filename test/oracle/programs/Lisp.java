package programs;

import clojure.lang.Compiler;
import clojure.lang.RT;
import java.io.StringReader;

/** Clojure: reads, compiles and runs a script. Each function is a class with its own loader. */
public final class Lisp implements Driver.Workload {
    private static final String SOURCE = """
        (defprotocol Area (area [this]))
        (defrecord Square [a] Area (area [_] (* a a)))
        (defrecord Disc [r] Area (area [_] (* 3 r r)))
        (defmulti kind class)
        (defmethod kind Square [_] :square)
        (defmethod kind Disc [_] :disc)
        (defmacro twice [x] `(let [y# ~x] (+ y# y#)))
        (defn primes [n] (loop [s (range 2 n) found []]
          (if-let [p (first s)] (recur (doall (remove #(zero? (mod % p)) s)) (conj found p)) found)))
        (let [shapes (concat (map ->Square (range 10)) (map ->Disc (range 10)))]
          (str (reduce + (map area shapes)) (frequencies (map kind shapes)) (twice (count (primes 100)))
            (into (sorted-map) (group-by count ["a" "bb" "cc" "d"])) (try (nth [1] 5) (catch Exception e "none"))))
        """;

    @Override
    public String work() {
        RT.init();
        return String.valueOf(Compiler.load(new StringReader(SOURCE)));
    }
}
