// Programs with probes in all methods behave as without probes, and each entry event has an exit event.

import assert from 'node:assert/strict'
import { beforeAll, it } from 'vitest'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { itOnlyIf } from '../support/only-if.ts'
import { assemble } from './assembler.ts'
import {
  CHECKING_RUNTIME,
  classesIn,
  compileRuntime,
  instrumentAll,
  runJava,
  VERIFY_ALL,
  writeClass,
} from './jvm.ts'

const SHAPES = `
  import java.util.*;
  import java.util.function.*;

  public class Shapes {
    static final List<String> log = new ArrayList<>();
    static final int SEED;
    static { int s = 0; for (int i = 0; i < 10; i++) s += i; SEED = s; }

    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

    static int countDown(int n) { while (true) { if (--n <= 0) return n; } }

    static String finallies(int n) {
      String s = "";
      for (int i = 0; i < n; i++) {
        try {
          if (i == 1) continue;
          if (i == 3) throw new IllegalStateException("three");
          if (i == 5) return s + "five";
          s += i;
        } catch (IllegalStateException e) {
          s += e.getMessage();
        } finally {
          s += "f";
        }
      }
      return s;
    }

    synchronized long locked(long a, double b) {
      synchronized (log) {
        if (b > 3) throw new ArithmeticException();
        return a + (long) b;
      }
    }

    static int nested(int[] a) {
      try {
        try {
          return a[2];
        } catch (NullPointerException e) {
          try { return a.length; } finally { log.add("inner"); }
        }
      } catch (ArrayIndexOutOfBoundsException e) {
        return -1;
      } catch (NullPointerException e) {
        return -2;
      }
    }

    static String select(int n, String s) {
      switch (n) {
        case 1: case 2: case 3: return "table" + n;
        case 1000: case 100000: return "lookup";
      }
      switch (s) {
        case "Aa": return "first";
        case "BB": return "same hash";
        default: return s + select(1, s);
      }
    }

    enum Colour { RED { int weight() { return 1; } }, BLUE { int weight() { return 2; } }; abstract int weight(); }

    record Point(int x, long y) {
      Point { if (x < 0) throw new IllegalArgumentException("x"); }
      Point(int both) { this(both, both > 5 ? both : -both); }
    }

    sealed interface Shape permits Circle, Square {}
    record Circle(double r) implements Shape {}
    record Square(double side) implements Shape {}

    interface Greeter {
      String name();
      default String greet() { return prefix() + name(); }
      private String prefix() { return hello() + " "; }
      static String hello() { return "hello"; }
    }

    static class Base {
      final String label;
      Base(String label) { if (label == null) throw new IllegalArgumentException("null"); this.label = label; }
      static String check(String s) { if (s.isEmpty()) throw new IllegalStateException("empty"); return s; }
    }
    static class Derived extends Base {
      final int extra = fib(5);
      Derived(boolean b, String s) { super(b ? new StringBuilder(s).reverse().toString() : s.isEmpty() ? null : new String(s)); }
      Derived(String s) { this(s.length() > 3, check(s)); }
      Derived(Object o) { super(o instanceof String t ? t : o == null ? new Object() { public String toString() { return "anon"; } }.toString() : null); }
      Derived(Supplier<String> s) { super(s.get()); try { log.add(label); } finally { log.add("made"); } }
    }

    static <T extends Exception> void sneak(Exception e) throws T { @SuppressWarnings("unchecked") T t = (T) e; throw t; }

    static int deep(int n) { return n == 0 ? Integer.parseInt("x") : 1 + deep(n - 1); }

    class Inner { int value() { return outerValue() + 1; } }
    private int outerValue() { return 41; }

    static void say(Object o) { System.out.println(o); }

    static void tries(Runnable r) {
      try { r.run(); } catch (Exception e) { say(e.getClass().getSimpleName() + " " + e.getMessage()); }
    }

    public static void main(String[] args) throws Exception {
      say(SEED + " " + fib(10) + " " + countDown(5));
      say(finallies(3) + " " + finallies(9));
      Shapes shapes = new Shapes();
      say(shapes.locked(1L << 40, 2.5));
      tries(() -> shapes.locked(1, 4));
      say(nested(new int[] {1, 2, 3}) + " " + nested(new int[1]));
      tries(() -> say(nested(null)));
      for (int n : new int[] {1, 2, 100000, 9}) for (String s : List.of("Aa", "BB", "C")) say(select(n, s));
      for (Colour c : Colour.values()) say(c + " " + c.weight() + " " + Colour.valueOf("RED").compareTo(c));
      say(new Point(7) + " " + new Point(1).equals(new Point(1, -1)) + " " + new Point(3).hashCode());
      tries(() -> new Point(-1));
      say(List.<Shape>of(new Circle(1), new Square(2)).stream().map(s -> s instanceof Circle c ? "c" + c.r() : "s").toList());
      Greeter greeter = () -> "you";
      say(greeter.greet());
      tries(() -> say(new Derived(true, "abc").label + new Derived("long one").label + new Derived((Object) "o").label));
      tries(() -> say(new Derived((Object) null).label + new Derived(() -> "supplied").extra));
      tries(() -> new Derived(false, ""));
      tries(() -> new Derived(""));
      tries(() -> new Derived((Supplier<String>) null));
      tries(() -> Shapes.<RuntimeException>sneak(new java.io.IOException("sneaky")));
      tries(() -> deep(20));
      say(shapes.new Inner().value());
      Function<Integer, Integer> twice = x -> 2 * x;
      say(twice.andThen(Shapes::fib).compose((Integer x) -> x + 1).apply(5));
      Thread thread = new Thread(() -> { for (int i = 0; i < 50; i++) fib(6); throw new IllegalStateException("ends thread"); });
      thread.setUncaughtExceptionHandler((t, e) -> say(e.getMessage()));
      thread.start();
      for (int i = 0; i < 50; i++) fib(6);
      thread.join();
      say(new Object() { int local(long a, double b, int c) { long d = a + c; double e = b * d; { long f = d; e += f; } { String g = "g"; e += g.length(); } return (int) e; } }.local(1, 2.0, 3));
      say(log);
    }
  }`

/** From Java 25 on, a constructor may execute much code before super(). */
const PROLOGUE = `
  public class Prologue {
    static class Base {
      final int n;
      Base(int n) { if (n > 100) throw new IllegalArgumentException("large " + n); this.n = n; }
    }
    static class Parsed extends Base {
      final String text;
      Parsed(String text) {
        int n;
        try {
          n = Integer.parseInt(text);
          if (n < 0) throw new IllegalStateException("negative");
        } catch (NumberFormatException e) {
          n = text.length();
          for (int i = 0; i < 3; i++) { if (i == n) break; n += i; }
        } finally {
          System.out.println("parsed");
        }
        this.text = text;
        super(n);
        System.out.println(switch ((Object) n) { case Integer i when i > 50 -> "big"; case Integer i -> "small"; default -> "?"; });
      }
    }
    public static void main(String[] args) {
      for (String s : new String[] {"5", "77", "word", "-1", "101", null}) {
        try { System.out.println(new Parsed(s).n); } catch (Exception e) { System.out.println(e.getClass().getSimpleName()); }
      }
    }
  }`

/** Code that javac no longer generates; `result` is the value of run(3). */
const OLD = {
  Subroutine: {
    code: 'iload_0 | jsr sub | iconst_1 | iadd | jsr sub | ireturn | sub: astore_1 | iconst_2 | imul | ret 1',
    result: 14, // (3 * 2 + 1) * 2
  },
  LoopToStart: { code: 'top: iinc 0 255 | iload_0 | ifgt top | iload_0 | ireturn', result: 0 },
  Unwinds: {
    code: 'from: iconst_1 | iconst_0 | idiv | to: ireturn | catch: pop | bipush 9 | ireturn',
    handlers: 'from..to -> catch',
    result: 9,
  },
  WideJumps: {
    code: 'goto far | back: iload_0 | ifeq far | nop*32700 | sipush 1234 | ireturn | iconst_0*20 | ireturn*20 | far: goto back',
    result: 1234,
  },
  DeepAtReturn: { code: 'iconst_0 | iconst_0 | iconst_0 | iload_0 | ireturn', maxStack: 4, result: 3 },
}

function instrumentDirectory(from: string): { dir: string; ids: Map<string, number>; skipped: string[] } {
  const dir = temporaryDirectory()
  const ids = new Map<string, number>()
  const skipped: string[] = []
  for (const { classFile } of classesIn(from)) {
    const idOf = (index: number) => {
      const id = (ids.size + 1) * 1009 // ids of every size, which are pushed in two, three or ten bytes
      const { name, descriptor } = classFile.methods[index]
      ids.set(`${classFile.name}.${name}${descriptor}`, id)
      return id
    }
    const result = instrumentAll(classFile, idOf)
    for (const { methodIndex, reason } of result.skipped) {
      skipped.push(`${classFile.name}.${classFile.methods[methodIndex].name}: ${reason}`)
    }
    writeClass(dir, classFile.name, result.bytes)
  }
  return { dir, ids, skipped }
}

/** Runs `main` of the instrumented classes. Returns the output and the number of entries per method. */
async function runInstrumented(
  jdk: Jdk,
  runtime: string,
  dir: string,
  ids: Map<string, number>,
  main: string,
) {
  const args = [...VERIFY_ALL, '--patch-module', `java.base=${runtime}`, '-cp', dir, main]
  const outcome = await runJava(jdk, args)
  const balance = /^balance: (.*)$/m.exec(outcome.stderr)?.[1] ?? outcome.stderr + outcome.stdout
  const counts = new Map<number, number>()
  for (const [, id, count] of outcome.stderr.matchAll(/(\d+)=(\d+)/g)) counts.set(Number(id), Number(count))
  const entered = (method: string) => {
    const id = ids.get(method)
    assert.ok(id !== undefined, `no method ${method}`)
    return counts.get(id) ?? 0
  }
  return { ...outcome, balance, entered }
}

forEachJdk((jdk) => {
  let runtime: string
  beforeAll(async () => {
    runtime = await compileRuntime(jdk, CHECKING_RUNTIME)
  })

  it('a program with methods of many shapes prints the same with probes, and each entry event has an exit event', async () => {
    const plain = await compileJava(jdk, { Shapes: SHAPES }, { options: ['-g'] })
    const { dir, ids, skipped } = instrumentDirectory(plain)
    assert.deepEqual(skipped, ['Shapes$Colour.weight: abstract', 'Shapes$Greeter.name: abstract'])
    const [before, after] = await Promise.all([
      runJava(jdk, ['-cp', plain, 'Shapes']),
      runInstrumented(jdk, runtime, dir, ids, 'Shapes'),
    ])
    assert.equal(before.code, 0)
    assert.equal(after.stdout, before.stdout, after.stderr)
    assert.equal(after.code, 0)
    const [, entries, exits, lost] =
      /^(\d+) entered, (\d+) left, (\d+) lost, 0 wrong, 0 open, 0 reflective$/.exec(after.balance) ??
      assert.fail(after.balance)
    // Two exits are lost: Derived(false, "") ends in its super call and Point(-1) in its this call, which no handler covers.
    assert.equal(Number(lost), 2)
    assert.equal(Number(exits), Number(entries) - 2)
    // fib(10) 177; fib(12) 465; fib(5) 15 in each of the 5 constructors of Derived that return from super(); 2 * 50 times fib(6) 25
    assert.equal(after.entered('Shapes.fib(I)I'), 177 + 465 + 5 * 15 + 100 * 25)
    assert.equal(after.entered('Shapes.deep(I)I'), 21)
    assert.equal(after.entered('Shapes.<clinit>()V'), 1)
  })

  itOnlyIf(jdk.version >= 25, 'needs JDK 25')('much code before super() works with probes', async () => {
    const plain = await compileJava(jdk, { Prologue: PROLOGUE }, { release: 25 })
    const { dir, ids, skipped } = instrumentDirectory(plain)
    assert.deepEqual(skipped, [])
    const before = await runJava(jdk, ['-cp', plain, 'Prologue'])
    const after = await runInstrumented(jdk, runtime, dir, ids, 'Prologue')
    assert.equal(before.stdout.split('\n').length, 16, before.stderr)
    assert.equal(after.stdout, before.stdout, after.stderr)
    // main, 6 Parsed, 4 Base; the exit of Parsed(101) is lost, since its super() threw
    assert.equal(after.balance, '11 entered, 10 left, 1 lost, 0 wrong, 0 open, 0 reflective')
  })

  it('code of old class file versions computes the same results with probes, and each entry event has an exit event', async () => {
    const calls = Object.keys(OLD).map((name) => `System.out.println("${name} " + ${name}.run(3));`)
    const stubs = Object.keys(OLD).map((name) => `class ${name} { static int run(int n) { return 0; } }`)
    const plain = await compileJava(jdk, {
      Main: `class Main { public static void main(String[] a) { ${calls.join(' ')} } } ${stubs.join(' ')}`,
    })
    for (const [className, { result: _, ...shape }] of Object.entries(OLD)) {
      writeClass(plain, className, assemble({ className, method: 'run(I)I', ...shape }).bytes)
    }
    const expected = Object.entries(OLD).map(([name, { result }]) => `${name} ${result}\n`)
    assert.equal((await runJava(jdk, [...VERIFY_ALL, '-cp', plain, 'Main'])).stdout, expected.join(''))
    const { dir, ids } = instrumentDirectory(plain)
    const after = await runInstrumented(jdk, runtime, dir, ids, 'Main')
    assert.equal(after.stdout, expected.join(''), after.stderr)
    assert.equal(after.balance, '6 entered, 6 left, 0 lost, 0 wrong, 0 open, 0 reflective') // includes main
  })
})
