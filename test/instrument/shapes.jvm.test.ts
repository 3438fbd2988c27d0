// All forms of methods that are difficult to rewrite: with probes, HotSpot's verifier accepts them, their results are as before, and all
// events are recorded. `run> risk> risk< run< -> outer` means: run was entered, risk was entered and left, run was left and returned
// "outer".
//
//   shape                                            test
//   -----------------------------------------------  ------------------------------------------------------
//   constructors, handlers around the super() call   below; much before super(): behaviour.jvm.test.ts
//   static initialisers                              below
//   synchronized methods and blocks                  below; in the compact form: compact.jvm.test.ts
//   nested and overlapping handlers                  below
//   a handler over the first instruction             below; a loop to it: behaviour.jvm.test.ts
//   jumps beyond 32 KiB                              below; written as wide ones: method.test.ts
//   methods past 8,000 bytes                         compact.jvm.test.ts
//   methods of almost 64 KiB                         below
//   alignment of switches                            below
//   long and double locals                           below
//   uninitialised types in frames                    below
//   dead code, with and without a frame              below
//   loops without a return                           below
//   records, enums, sealed types, pattern switches   below
//   nest mates                                       below
//   methods of interfaces                            below
//   bridges, varargs                                 below
//   string concatenation, lambdas                    below
//   dynamic constants                                below
//   type annotations, tables of lines and locals     tables.jvm.test.ts
//   jsr and ret                                      behaviour.jvm.test.ts

import assert from 'node:assert/strict'
import { beforeAll, it } from 'vitest'
import { parseCode } from '../../src/classfile/code.ts'
import { forEachJdk } from '../support/jdks.ts'
import type { Assembly } from './assembler.ts'
import { classFiles, type Traces, traceCalls } from './trace.ts'

interface Shape {
  /** The called class, in Java or assembled. */
  readonly java?: string
  readonly code?: Partial<Assembly> & { code: string }
  /** Expected events and result, keyed by `Class:argument`. */
  readonly calls: Record<string, string>
}

const OBJECT_INIT = 'invokespecial java/lang/Object.<init>()V'

const SHAPES: Record<string, Shape> = {
  'a constructor is entered at its first instruction, so it calls the methods that compute the arguments of super()':
    {
      java: `
      class Constructors {
        static class Base { Base(int n) {} }
        static class Derived extends Base { Derived(int n) { super(argument(n)); after(); } }
        static int argument(int n) { if (n < 0) throw new IllegalArgumentException("negative"); return n; }
        static void after() {}
        static Object run(int n) { new Derived(n); return "made"; }
      }`,
      calls: {
        'Constructors:1':
          'run> Derived.<init>> argument> argument< Base.<init>> Base.<init>< after> after< Derived.<init>< run< -> made',
        'Constructors:-1':
          'run> Derived.<init>> argument> argument< Derived.<init>< run< -> IllegalArgumentException: negative',
      },
    },
  'a constructor whose super() call throws is entered and not left': {
    java: `
      class SuperThrows {
        static class Base { Base() { throw new IllegalStateException("base"); } }
        static class Derived extends Base { Derived() {} }
        static Object run() { try { new Derived(); } catch (IllegalStateException e) { return e.getMessage(); } return ""; }
      }`,
    calls: { SuperThrows: 'run> Derived.<init>> Base.<init>> Base.<init>< run^ run< -> base' },
  },
  'a constructor with handlers after its super() call': {
    java: `
      class Guarded {
        final int n;
        Guarded(String text) {
          int parsed;
          try { parsed = parse(text); } catch (NumberFormatException e) { parsed = fallback(); } finally { done(); }
          n = parsed;
        }
        static int parse(String text) { return Integer.parseInt(text); }
        static int fallback() { return -1; }
        static void done() {}
        static Object run(int n) { return new Guarded(n == 0 ? "x" : "7").n; }
      }`,
    calls: {
      'Guarded:0': 'run> <init>> parse> parse< <init>^ fallback> fallback< done> done< <init>< run< -> -1',
      'Guarded:1': 'run> <init>> parse> parse< done> done< <init>< run< -> 7',
    },
  },
  'a constructor with a handler before its super() call': {
    code: {
      method: '<init>(Z)V',
      this: true,
      code: `from: iconst_1 | iload_1 | idiv | pop | to: aload_0 | ${OBJECT_INIT} | return
        | catch: pop | aload_0 | ${OBJECT_INIT} | return`,
      handlers: 'from..to -> catch',
    },
    calls: { 'GuardedBefore:0': '<init>> <init>< -> made', 'GuardedBefore:1': '<init>> <init>< -> made' },
  },
  'a constructor with a call and a handler before its super() call': {
    code: {
      method: '<init>(Z)V',
      this: true,
      code: `from: iconst_1 | iload_1 | invokestatic java/lang/Math.floorDiv(II)I | pop | to: aload_0 | ${OBJECT_INIT} | return
        | catch: pop | aload_0 | ${OBJECT_INIT} | return`,
      handlers: 'from..to -> catch',
    },
    calls: { 'CallsBefore:0': '<init>> <init>^ <init>< -> made', 'CallsBefore:1': '<init>> <init>< -> made' },
  },
  'handlers whose first instruction gets another offset': {
    code: {
      code: `from: iload_0 | invokestatic java/lang/Integer.toString(I)Ljava/lang/String; | invokestatic java/lang/Integer.parseInt(Ljava/lang/String;)I
        | pop | iconst_1 | iload_0 | invokestatic java/lang/Math.floorDiv(II)I | ireturn
        | to: nop | catch: ifnull none | iload_0 | tableswitch 0 zero default none
        | zero: iconst_5 | invokestatic java/lang/Math.abs(I)I | ireturn | none: iconst_m1 | ireturn`,
      handlers: 'from..to -> catch',
    },
    calls: { 'MovedHandler:0': 'run> run^ run< -> 5', 'MovedHandler:1': 'run> run< -> 1' },
  },
  'a constructor that throws before and after its super() call': {
    code: {
      method: '<init>(Z)V',
      this: true,
      code: `iload_1 | ifeq after | iconst_m1 | newarray 10 | pop
        | after: aload_0 | ${OBJECT_INIT} | iconst_1 | iload_1 | idiv | pop | return`,
    },
    calls: {
      'ThrowsTwice:0': '<init>> <init>< -> ArithmeticException: / by zero',
      'ThrowsTwice:1': '<init>> <init>< -> NegativeArraySizeException: -1',
    },
  },
  'a static initialiser': {
    java: `
      class Initialised {
        static final int N;
        static { N = count(2); }
        static int count(int n) { return n == 0 ? 0 : 1 + count(n - 1); }
        static Object run() { return N; }
      }`,
    calls: { Initialised: '<clinit>> count> count> count> count< count< count< <clinit>< run> run< -> 2' },
  },
  'a static initialiser that throws': {
    java: `
      class FailsToInitialise {
        static final int N = fail();
        static int fail() { throw new IllegalStateException(); }
        static Object run() { return N; }
      }`,
    calls: { FailsToInitialise: '<clinit>> fail> fail< <clinit>< -> ExceptionInInitializerError' },
  },
  'synchronized methods and blocks, whose locks are released by each exit': {
    java: `
      class Locks {
        static final Object lock = new Object();
        static boolean held() { return Thread.holdsLock(lock) || Thread.holdsLock(Locks.class); }
        static synchronized long method(int n) { if (n == 0) throw new ArithmeticException(); return n; }
        static double block(int n) {
          synchronized (lock) {
            if (n == 0) throw new ArithmeticException();
            synchronized (Locks.class) { if (n == 1) return 1.5; }
          }
          return 2.5;
        }
        static Object run(int n) {
          String s;
          try { s = "" + method(n); } catch (ArithmeticException e) { s = "thrown"; }
          try { s += " " + block(n); } catch (ArithmeticException e) { s += " thrown"; }
          return s + " " + held();
        }
      }`,
    calls: {
      'Locks:0':
        '<clinit>> <clinit>< run> method> method< run^ block> block< run^ held> held< run< -> thrown thrown false',
      'Locks:1': 'run> method> method< block> block< held> held< run< -> 1 1.5 false',
      'Locks:2': 'run> method> method< block> block< held> held< run< -> 2 2.5 false',
    },
  },
  'nested handlers': {
    java: `
      class Nested {
        static void risk(int n) {
          if (n == 1) throw new IllegalStateException();
          if (n == 2) throw new IllegalArgumentException();
          if (n == 3) throw new Error("out");
        }
        static void inner() {}
        static void cleanup() {}
        static Object run(int n) {
          try {
            try { risk(n); return "none"; } catch (IllegalStateException e) { inner(); return "inner"; } finally { cleanup(); }
          } catch (IllegalArgumentException e) {
            return "outer";
          }
        }
      }`,
    calls: {
      'Nested:0': 'run> risk> risk< cleanup> cleanup< run< -> none',
      'Nested:1': 'run> risk> risk< run^ inner> inner< cleanup> cleanup< run< -> inner',
      'Nested:2': 'run> risk> risk< run^ cleanup> cleanup< run< -> outer',
      'Nested:3': 'run> risk> risk< run^ cleanup> cleanup< run< -> Error: out',
    },
  },
  'overlapping handlers, the first row first': overlapping('a..c -> h1 | b..d -> h2', {
    'OverlappingOneTwo:1': 'run> run< -> 11',
    'OverlappingOneTwo:2': 'run> run< -> 11',
    'OverlappingOneTwo:3': 'run> run< -> 22',
    'OverlappingOneTwo:0': 'run> run< -> 0',
  }),
  'overlapping handlers, the second row first': overlapping('b..d -> h2 | a..c -> h1', {
    'OverlappingTwoOne:1': 'run> run< -> 11',
    'OverlappingTwoOne:2': 'run> run< -> 22',
    'OverlappingTwoOne:3': 'run> run< -> 22',
  }),
  'a handler that covers the first instruction': {
    code: {
      code: 'from: iload_0 | newarray 10 | pop | bipush 7 | ireturn | to: nop | catch: pop | bipush 9 | ireturn',
      handlers: 'from..to -> catch',
    },
    calls: { 'FirstGuarded:1': 'run> run< -> 7', 'FirstGuarded:-1': 'run> run< -> 9' },
  },
  'conditional branches, forward and back, that grow past 32 KiB': {
    // `far` is at 32,749 after 21 returns. With probes, a branch with a 16-bit offset cannot reach it.
    code: {
      code: `iload_0 | ifle far | back: sipush 1234 | ireturn | nop*32720 | iconst_0 | ireturn*20
        | far: iload_0 | ifeq back | bipush 55 | ireturn`,
    },
    calls: {
      'FarConditionals:1': 'run> run< -> 1234',
      'FarConditionals:0': 'run> run< -> 1234',
      'FarConditionals:-1': 'run> run< -> 55',
    },
  },
  'jumps and subroutine calls that grow past 32 KiB': {
    code: {
      code: `goto far | sub: astore_1 | iinc 0 1 | ret 1 | back: iload_0 | ireturn | nop*32710 | iconst_0 | ireturn*20
        | far: jsr sub | goto back`,
    },
    calls: { 'FarJumps:5': 'run> run< -> 6' },
  },
  'a method that ends just below 64 KiB': {
    code: {
      code: 'nop*65480 | iload_0 | ifeq zero | iconst_1 | ireturn | zero: iconst_1 | iload_0 | idiv | ireturn',
    },
    calls: {
      'AlmostFull:3': 'run> run< -> 1',
      'AlmostFull:0': 'run> run< -> ArithmeticException: / by zero',
    },
  },
  ...Object.fromEntries([0, 1, 2, 3].map(aligned)),
  'long and double locals': {
    java: `
      class Doubles {
        static long step(long i, double b) { return (long) (i * b * 4); }
        static Object run(int n) {
          long a = 1L << 40;
          double b = 0.5;
          long c = a;
          try {
            for (int i = 0; i < 3; i++) { c += step(i, b); b *= 2; }
            if (n == 0) throw new IllegalStateException();
          } catch (IllegalStateException e) { c = -c; }
          { float f = 1; c += (long) f; }
          { long d = c; c = d + 1; }
          return c + " " + b;
        }
      }`,
    // 2^40 + 0 * 0.5 * 4 + 1 * 1 * 4 + 2 * 2 * 4 = 1099511627796
    calls: {
      'Doubles:1': 'run> step> step< step> step< step> step< run< -> 1099511627798 4.0',
      'Doubles:0': 'run> step> step< step> step< step> step< run^ run< -> -1099511627794 4.0',
    },
  },
  'uninitialised types in frames': {
    java: `
      class Uninitialised {
        final String s;
        Uninitialised(String s, int n) { this.s = s + n; }
        static class Sub extends Uninitialised { Sub(int n) { super(n > 0 ? plus() : "sub", n > 1 ? 2 : 3); } }
        static String plus() { return "+"; }
        static Object run(int n) { return new Uninitialised(n > 0 ? plus() : "none", n > 1 ? n : -n).s + new Sub(n).s; }
      }`,
    calls: {
      'Uninitialised:0': 'run> <init>> <init>< Sub.<init>> <init>> <init>< Sub.<init>< run< -> none0sub3',
      'Uninitialised:2':
        'run> plus> plus< <init>> <init>< Sub.<init>> plus> plus< <init>> <init>< Sub.<init>< run< -> +2+2',
    },
  },
  'dead code without a frame, in old class files': {
    code: { code: 'iload_0 | ireturn | pop | pop2 | athrow | dead: ireturn | goto dead' },
    calls: { 'DeadOld:3': 'run> run< -> 3' },
  },
  'dead code with a frame, in new class files': {
    code: {
      major: 61,
      code: 'iload_0 | ireturn | dead: nop | goto dead',
      attributes: { StackMapTable: [0, 1, 251, 'dead'] }, // one frame, equal to the frame at the method entry
    },
    calls: { 'DeadNew:3': 'run> run< -> 3' },
  },
  'an endless loop without a return': {
    java: `
      class Endless {
        static void tick(int n) { if (n == 0) throw new IllegalStateException("stop"); }
        static Object run(int n) { while (true) tick(n--); }
      }`,
    calls: { 'Endless:1': 'run> tick> tick< tick> tick< run< -> IllegalStateException: stop' },
  },
  'records, whose methods the JVM generates': {
    java: `
      class Records {
        record Point(int x, long y) { Point { if (x < 0) throw new IllegalArgumentException("x"); } }
        static Object run(int n) {
          Point point = new Point(n, 2);
          String text = point.toString();
          return text + point.equals(new Point(1, 2)) + point.x();
        }
      }`,
    calls: {
      'Records:1':
        'run> Point.<init>> Point.<init>< Point.toString> Point.toString< Point.<init>> Point.<init>< ' +
        'Point.equals> Point.equals< Point.x> Point.x< run< -> Point[x=1, y=2]true1',
      'Records:-1': 'run> Point.<init>> Point.<init>< run< -> IllegalArgumentException: x',
    },
  },
  'enums with bodies': {
    java: `
      class Enums {
        enum Colour { RED { int weight() { return 1; } }, BLUE { int weight() { return 2; } }; abstract int weight(); }
        static Object run() { return Colour.valueOf("BLUE").weight() + Colour.values().length; }
      }`,
    calls: {
      // The JDK calls values() for its map of names.
      Enums:
        'run> Colour.<clinit>> Colour$1.<init>> Colour.<init>> Colour.<init>< Colour$1.<init>< ' +
        'Colour$2.<init>> Colour.<init>> Colour.<init>< Colour$2.<init>< Colour.$values> Colour.$values< ' +
        'Colour.<clinit>< Colour.valueOf> Colour.values> Colour.values< Colour.valueOf< Colour$2.weight> Colour$2.weight< ' +
        'Colour.values> Colour.values< run< -> 4',
    },
  },
  'sealed types': {
    java: `
      class Sealed {
        sealed interface Shape permits Circle, Square { double area(); }
        record Circle(double r) implements Shape { public double area() { return 3 * r * r; } }
        record Square(double side) implements Shape { public double area() { return side * side; } }
        static Object run(int n) {
          Shape s = n == 0 ? new Circle(1) : new Square(2);
          return s instanceof Circle c ? c.r() : s.area();
        }
      }`,
    calls: {
      'Sealed:0': 'run> Circle.<init>> Circle.<init>< Circle.r> Circle.r< run< -> 1.0',
      'Sealed:1': 'run> Square.<init>> Square.<init>< Square.area> Square.area< run< -> 4.0',
    },
  },
  'nest mates, which call private methods of each other': {
    java: `
      class Nests {
        private int n = 1;
        private int secret() { return n + 1; }
        class Inner { private int own() { return secret(); } }
        static Object run() { return new Nests().new Inner().own(); }
      }`,
    calls: {
      Nests:
        'run> <init>> <init>< Inner.<init>> Inner.<init>< Inner.own> secret> secret< Inner.own< run< -> 2',
    },
  },
  'private, static and default methods of interfaces': {
    java: `
      class Interfaces {
        interface Greeter {
          String name();
          default String greet() { return prefix() + name(); }
          private String prefix() { return hello() + " "; }
          static String hello() { return "hello"; }
        }
        static class You implements Greeter { public String name() { return "you"; } }
        static Object run() { return new You().greet(); }
      }`,
    calls: {
      Interfaces:
        'run> You.<init>> You.<init>< Greeter.greet> Greeter.prefix> Greeter.hello> Greeter.hello< ' +
        'Greeter.prefix< You.name> You.name< Greeter.greet< run< -> hello you',
    },
  },
  'bridges and varargs methods': {
    java: `
      class Bridges {
        static class Five implements Comparable<Five> { public int compareTo(Five other) { return 5; } }
        static int sum(int... terms) { int sum = 0; for (int term : terms) sum += term; return sum; }
        static Object run() { Comparable<Five> five = new Five(); return five.compareTo(null) + sum() + sum(1, 2); }
      }`,
    calls: {
      Bridges:
        'run> Five.<init>> Five.<init>< Five.compareTo~> Five.compareTo> Five.compareTo< Five.compareTo~< ' +
        'sum> sum< sum> sum< run< -> 8',
    },
  },
  'string concatenation, lambdas and method references': {
    java: `
      import java.util.function.*;
      class Dynamic {
        public String toString() { return "b"; }
        static String twice(String s) { return s + s; }
        static Object run() {
          Supplier<String> lambda = () -> "a" + new Dynamic();
          Function<String, String> reference = Dynamic::twice;
          return reference.apply(lambda.get());
        }
      }`,
    calls: {
      Dynamic:
        'run> lambda$run$0> <init>> <init>< toString> toString< lambda$run$0< twice> twice< run< -> abab',
    },
  },
  'dynamic constants, created once by a method that has probes': {
    java: `
      import java.lang.invoke.*;
      class ConstantMaker {
        static Object make(MethodHandles.Lookup lookup, String name, Class<?> type) { return name.length(); }
      }`,
    code: {
      major: 61,
      bootstrap: 'ConstantMaker.make',
      code: 'iload_0 | ldc_w dynamic.four:I | iadd | ireturn',
    },
    calls: {
      'Constants:1': 'run> ConstantMaker.make> ConstantMaker.make< run< -> 5',
      'Constants:2': 'run> run< -> 6',
    },
  },
}

const LATER: Record<string, Shape> = {
  'pattern switches over records': {
    java: `
      class Patterns {
        sealed interface Shape permits Circle, Square {}
        record Circle(int r) implements Shape {}
        record Square(int side) implements Shape {}
        static boolean large(Square q) { return q.side() > 5; }
        static Object run(int n) {
          Shape s = n == 0 ? new Circle(5) : n == 1 ? new Square(2) : new Square(9);
          return switch (s) {
            case Circle(int r) -> r;
            case Square q when large(q) -> "large";
            case Square(int side) -> side;
          };
        }
      }`,
    calls: {
      'Patterns:0': 'run> Circle.<init>> Circle.<init>< Circle.r> Circle.r< run< -> 5',
      'Patterns:1':
        'run> Square.<init>> Square.<init>< large> Square.side> Square.side< large< Square.side> Square.side< run< -> 2',
      'Patterns:2':
        'run> Square.<init>> Square.<init>< large> Square.side> Square.side< large< run< -> large',
    },
  },
}

/** Returns a method that divides by zero in one of three places: in [a, b) for 1, in [b, c) for 2, in [c, d) for 3. */
function overlapping(handlers: string, calls: Record<string, string>): Shape {
  const divide = (n: number) => `iconst_1 | iload_0 | iconst_${n} | isub | idiv | pop`
  const code = `a: ${divide(1)} | b: ${divide(2)} | c: ${divide(3)} | d: iconst_0 | ireturn
    | h1: pop | bipush 11 | ireturn | h2: pop | bipush 22 | ireturn`
  return { code: { code, handlers }, calls }
}

/** Returns a tableswitch followed by a lookupswitch, moved by 0 to 3 bytes. */
function aligned(by: number): [string, Shape] {
  const code = `nop*${by} | iload_0 | tableswitch 5 a b default c | a: iconst_1 | ireturn | b: iconst_2 | ireturn
    | c: iload_0 | lookupswitch -9 d 70000 e default f
    | d: iconst_3 | ireturn | e: iconst_4 | ireturn | f: iconst_5 | ireturn`
  const results = { 5: 1, 6: 2, '-9': 3, 70000: 4, 0: 5 }
  const calls = Object.entries(results).map(([n, result]) => [`Switches${by}:${n}`, `run> run< -> ${result}`])
  return [`switches ${by} bytes further on`, { code: { code }, calls: Object.fromEntries(calls) }]
}

forEachJdk((jdk) => {
  const shapes = jdk.version >= 21 ? { ...SHAPES, ...LATER } : SHAPES
  let traces: Traces
  beforeAll(async () => {
    const java: Record<string, string> = {}
    const code: Record<string, Partial<Assembly> & { code: string }> = {}
    for (const shape of Object.values(shapes)) {
      const [className] = Object.keys(shape.calls)[0].split(':')
      if (shape.code !== undefined) code[className] = shape.code
      if (shape.java !== undefined) java[/class (\w+)/.exec(shape.java)![1]] = shape.java
    }
    const calls = Object.values(shapes).flatMap(({ calls: of }) => Object.keys(of))
    traces = await traceCalls(jdk, { java, code, release: jdk.version >= 21 ? 21 : 17 }, calls)
  }, 60_000)

  it.each(Object.entries(shapes))(
    'with probes, the test methods return the same results and record all expected events: %s',
    (_, { calls }) => {
      for (const [call, expected] of Object.entries(calls)) {
        assert.equal(traces.traced.get(call), expected, call)
        assert.equal(traces.plain.get(call), expected.slice(expected.indexOf('->')), call)
      }
    },
  )

  it('every method of the test classes gets probes', () => {
    assert.deepEqual(traces.skipped, [])
  })

  it('the large test methods exceed the size limits that they are meant to exceed', () => {
    const lengths = traces.directories.map((dir) => {
      const classes = classFiles(dir)
      return ['FarConditionals', 'FarJumps', 'AlmostFull'].map((name) => {
        const classFile = classes.get(name)!
        return parseCode(classFile, classFile.methods[0]).bytecode.length
      })
    })
    const [[conditionals, jumps, full], [conditionalsNow, jumpsNow, fullNow]] = lengths
    assert.ok(conditionals < 0x8000 && conditionalsNow > 0x8000)
    assert.ok(jumps < 0x8000 && jumpsNow > 0x8000)
    assert.ok(full < fullNow && fullNow > 65_500)
  })
})
