// Class files for fuzz tests, and functions that damage them. The classes need only each other and the JDK, so HotSpot can verify every
// mutant. Versions 45 to 61, with frames, without frames, and with subroutines.

import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { compileJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { mutate as damageCode, type Random } from '../typecheck/mutate.ts'
import { assemble } from './assembler.ts'
import { classesIn } from './jvm.ts'

/** Source without invokedynamic and class literals, so that its code is valid in any version if frames are ignored. */
const PLAIN = `
  package fuzz;
  import java.lang.annotation.*;
  import java.util.*;
  @Deprecated public class Plain extends Base implements Runnable, Comparable<Plain> {
    @Target(ElementType.TYPE_USE) @Retention(RetentionPolicy.RUNTIME) @interface Odd { int value() default 1; String[] of() default {}; }
    private final long sum;
    static double[] table = {1, 2.5, -3};
    Plain(boolean big, String... names) {
      super(big ? new StringBuilder(names[0]).append(big) : null, names.length > 2 ? 1L : 2);
      sum = names.length;
    }
    Plain(int n) { this(n > 3 && n < 9, new String[] {"a" + n, String.valueOf(n)}); for (int i = n; i-- > 0;) run(); }
    public void run() {
      try { if (sum > 3) throw new IllegalStateException("x" + sum); Objects.requireNonNull(table); }
      catch (IllegalStateException | NullPointerException e) { table = null; }
      finally { synchronized (this) { table = new double[(int) sum]; } }
    }
    public int compareTo(Plain other) { return other == this ? 0 : sum < other.sum ? -1 : 1; }
    static int dense(int a) { switch (a) { case 1: return 2; case 2: case 3: a++; case 4: return a; default: return -a; } }
    static long sparse(long a, float b, String s) {
      switch (s) { case "one": a += 1; break; case "two": a *= (long) b; break; case "": return a; }
      switch ((int) a) { case -100: return 1; case 70000: return 2; }
      outer: for (int i = 0; i < 10; i++) for (int j = 0; j < i; j++) { if (j * i == a) continue outer; if (a < 0) break outer; a -= j; }
      @Odd(3) List<@Odd(of = {"x"}) String> list = new ArrayList<@Odd String>();
      return a + list.size() + (long) ((@Odd Object) s).hashCode();
    }
    static Object[][] arrays(Object o) { return o instanceof Object[][] ? (Object[][]) o : new Object[][] {{o}, new String[3]}; }
    protected void finalize() {}
    class Inner { int up() { return (int) sum + dense(3); } }
    static class Caught { static int of(int[] a, int i) { try { return a[i]; } catch (RuntimeException e) { try { return of(a, i / 2); } finally { a[0]++; } } } }
  }
  class Base {
    Base(Object o, long n) { if (o == null && n > 1) throw new IllegalArgumentException(); }
  }`
const MODERN = `
  package fuzz;
  import java.util.*;
  import java.util.function.*;
  public class Modern {
    sealed interface Shape permits Round, Square {}
    record Round(double r) implements Shape {}
    record Square(int a, String name) implements Shape { Square { if (a < 0) throw new IllegalArgumentException("a " + a); } }
    enum Kind { BIG { int of(int n) { return n * 2; } }, SMALL; int of(int n) { return n; } }
    interface Greets { default String greet(String a) { return "hello " + a + helper(); } private int helper() { return 1; } static void no() {} }
    static double area(Shape s) { if (s instanceof Square q && q.a() > 1) return q.a() * q.a(); return s instanceof Round r ? r.r() : 0; }
    String lines(Map<String, List<Integer>> m) {
      StringBuilder b = new StringBuilder();
      m.forEach((k, v) -> v.stream().filter(i -> i > k.length()).map(String::valueOf).forEach(b::append));
      Supplier<Runnable> s = () -> () -> b.append(hashCode());
      s.get().run();
      return switch (Kind.valueOf(b.toString())) { case BIG -> "big" + m; case SMALL -> { try (var in = new Scanner(b.toString())) { yield in.next(); } } };
    }
  }`

/** Nested subroutines, and a method that needs wide branches with its probes. */
const ASSEMBLED = [
  {
    method: 'sub(I)I',
    code: 'start: iload_0 | ifle out | jsr fin | out: iload_0 | ireturn | fin: astore 1 | jsr in | ret 1 | in: astore 2 | iinc 0 1 | ret 2 | caught: astore 3 | jsr fin | aload 3 | athrow',
    handlers: 'start..out -> caught',
  },
  {
    method: 'far(I)V',
    code: `iload_0 | ifle far | jsr sub | nop*32757 | far: return | sub: astore 1 | ret 1`,
  },
  {
    method: '<init>(Z)V',
    this: true,
    code: 'iload_1 | ifne b | aload_0 | invokespecial java/lang/Object.<init>()V | goto c | b: aload_0 | invokespecial java/lang/Object.<init>()V | c: iinc 1 1 | return',
  },
]

export async function classesToDamage(jdk: Jdk): Promise<ClassFile[]> {
  const options = ['-g', '-Xlint:none']
  const [plain, modern] = await Promise.all([
    compileJava(jdk, { 'fuzz/Plain': PLAIN }, { release: 8, options }),
    compileJava(jdk, { 'fuzz/Modern': MODERN }, { release: 17, options }),
  ])
  const old = classesIn(plain).map(({ classFile }) => classFile)
  return [
    ...old,
    ...old.map((classFile, i) => ofVersion(classFile, 45 + (i % 7))),
    ...classesIn(modern).map(({ classFile }) => classFile),
    ...ASSEMBLED.map(assemble),
  ]
}

function ofVersion({ bytes }: ClassFile, major: number): ClassFile {
  const changed = Uint8Array.from(bytes)
  changed[7] = major
  return parseClassFile(changed)
}

export interface Mutant {
  readonly what: string
  readonly bytes: Uint8Array
}

export function mutant(classFile: ClassFile, random: Random): Mutant {
  if (random(3) === 0) {
    const damaged = damageCode(classFile, random)
    if (damaged !== undefined) return damaged
  }
  const [what, damage] = DAMAGES[random(DAMAGES.length)]
  return { what: `${what} in ${classFile.name}`, bytes: damage(classFile, random) }
}

type Damage = (classFile: ClassFile, random: Random) => Uint8Array

const DAMAGES: readonly [string, Damage][] = [
  ['bytes of code', (classFile, random) => someBytes(classFile, random, inCode)],
  ['bytes anywhere', (classFile, random) => someBytes(classFile, random, anywhere)],
  ['the end left out', ({ bytes }, random) => bytes.slice(0, random(bytes.length))],
  ['bytes left out', ({ bytes }, random) => without(bytes, random(bytes.length), 1 + random(8))],
  ['bytes put in', ({ bytes }, random) => withMore(bytes, random(bytes.length), 1 + random(8), random)],
  ['a length that lies', (classFile, random) => lie(classFile, random, -4)],
  ['a count that lies', (classFile, random) => lie(classFile, random, 0)],
  ['an attribute of another name', (classFile, random) => lie(classFile, random, -6)],
  [
    'the number of constants',
    ({ bytes }, random) => withU2(bytes, 8, extreme(random, bytes[8] * 256 + bytes[9])),
  ],
  ['another version', ({ bytes }, random) => withU2(bytes, 6, 44 + random(27))],
]

function someBytes(classFile: ClassFile, random: Random, place: Place): Uint8Array {
  const bytes = Uint8Array.from(classFile.bytes)
  for (let left = 1 + random(4); left > 0; left--) {
    const at = place(classFile, random)
    const kind = random(4)
    if (kind === 0) bytes[at] ^= 1 << random(8)
    else if (kind === 1) bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random(5)]
    else if (kind === 2) bytes[at] = random(256)
    else bytes.copyWithin(at, random(bytes.length), random(bytes.length)) // keeps the length
  }
  return bytes
}

type Place = (classFile: ClassFile, random: Random) => number

const anywhere: Place = ({ bytes }, random) => random(bytes.length)

const inCode: Place = (classFile, random) => {
  const bodies = classFile.methods.flatMap(({ code }) => (code === undefined ? [] : [code]))
  if (bodies.length === 0) return anywhere(classFile, random)
  const { offset, length } = bodies[random(bodies.length)]
  return offset + random(length)
}

/** Changes an attribute of the class, a method or its code: its name at -6, its length at -4, or its first word, often a count, at 0. */
function lie(classFile: ClassFile, random: Random, field: -6 | -4 | 0): Uint8Array {
  const { bytes, methods, attributes, pool } = classFile
  const method = methods[random(methods.length + 1)]
  const ofCode = method?.code === undefined ? [] : parseCode(classFile, method).attributes
  const all = [...attributes, ...(method?.attributes ?? []), ...ofCode, ...ofCode]
  if (all.length === 0) return bytes.slice(0, -1)
  const { offset, length } = all[random(all.length)]
  if (field === -6) return withU2(bytes, offset - 6, random(pool.count))
  if (field === 0) return withU2(bytes, offset, extreme(random, bytes[offset] * 256 + bytes[offset + 1]))
  const changed = Uint8Array.from(bytes)
  const value = random(4) === 0 ? [0x7fffffff, 0x80000000, 0xffffffff][random(3)] : extreme(random, length)
  new DataView(changed.buffer).setUint32(offset - 4, value)
  return changed
}

function extreme(random: Random, value: number): number {
  return [0, 1, value - 1, value + 1, value * 2, 0x7fff, 0x8000, 0xffff][random(8)] & 0xffff
}

function withU2(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const changed = Uint8Array.from(bytes)
  changed[at] = value >>> 8
  changed[at + 1] = value
  return changed
}

function without(bytes: Uint8Array, at: number, count: number): Uint8Array {
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + count)])
}

function withMore(bytes: Uint8Array, at: number, count: number, random: Random): Uint8Array {
  const more = Uint8Array.from({ length: count }, () => random(256))
  return Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)])
}
