// Methods that would exceed 8,000 bytes with a probe before each return. Their returns share exits. HotSpot's verifier and jfluid's type
// checker accept them, results and events are correct, and HotSpot compiles them.

import assert from 'node:assert/strict'
import { beforeAll, it } from 'vitest'
import { parseCode } from '../../src/classfile/code.ts'
import { GOTO } from '../../src/classfile/opcodes.ts'
import { KNOWS_NOTHING, TypeChecker } from '../../src/typecheck/check.ts'
import { forNewestJdk } from '../support/jdks.ts'
import type { Assembly } from './assembler.ts'
import { compileRuntime, runJava, SILENT_RUNTIME, VERIFY_ALL } from './jvm.ts'
import { classFiles, type Traces, traceCalls } from './trace.ts'

/** Returns `case 0: …` to `case count - 1: …`. */
function cases(count: number, body: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => `case ${n}: ${body(n)}`).join('\n')
}

/** Returns a class with a method `pick`, which has a return for each case and throws for other values. */
function picker(name: string, type: string, count: number, value: (n: number) => string, more = ''): string {
  return `
    class ${name} {
      ${more}
      static ${type} pick(int n) {
        switch (n) { ${cases(count, (n) => `return ${value(n)};`)} }
        throw new IllegalArgumentException("no case");
      }
      static Object run(int n) { return pick(n)${type.endsWith('[]') ? '[0]' : ''}; }
    }`
}

const JAVA = {
  Ints: picker('Ints', 'int', 650, (n) => `${70_000 + n}`),
  Longs: picker('Longs', 'long', 600, (n) => `${70_000 + n}L`),
  Floats: picker('Floats', 'float', 650, (n) => `${n}.5f`),
  Doubles: picker('Doubles', 'double', 600, (n) => `${n}.25`),
  // The class file contains the names String and int[] at no other place.
  Strings: picker('Strings', 'String', 650, (n) => `"s${n}"`),
  Arrays: picker('Arrays', 'int[]', 600, () => 'ONE', 'static final int[] ONE = {1};'),
  Voids: `
    class Voids {
      static int last;
      static void pick(int n) { switch (n) { ${cases(560, (n) => `last = ${1000 + n}; return;`)} } throw new IllegalArgumentException("no case"); }
      static Object run(int n) { pick(n); return last; }
    }`,
  Made: `
    class Made {
      int n;
      static int argument(int n) { return n; }
      static class Base { Base(int n) { if (n == 1) throw new IllegalStateException("base"); } }
      static class Derived extends Base {
        int last;
        Derived(int n) {
          super(argument(n));
          switch (n) { ${cases(500, (n) => `last = ${1000 + n}; return;`)} }
          throw new IllegalArgumentException("no case");
        }
      }
      static Object run(int n) { return new Derived(n).last; }
    }`,
  Locked: `
    class Locked {
      synchronized long pick(int n) {
        synchronized (Locked.class) {
          switch (n) { ${cases(600, (n) => `return ${70_000 + n}L;`)} }
        }
        throw new IllegalArgumentException("no case");
      }
      static Object run(int n) {
        Locked locked = new Locked();
        String result;
        try { result = "" + locked.pick(n); } catch (IllegalArgumentException e) { result = e.getMessage(); }
        return result + " " + (Thread.holdsLock(locked) || Thread.holdsLock(Locked.class));
      }
    }`,
  Guarded: `
    class Guarded {
      static int risk(int n) { if (n % 2 == 1) throw new IllegalStateException(); return n; }
      static int pick(int n) {
        try {
          switch (risk(n)) { ${cases(600, (n) => `return ${70_000 + n};`)} }
        } catch (IllegalStateException e) {
          switch (n) { ${cases(150, (n) => `return ${-70_000 - n};`)} }
          throw e;
        }
        return 0;
      }
      static Object run(int n) { return pick(n); }
    }`,
}

/** Calls each method often enough for C1. */
const LOOP = `
  class Loop {
    public static void main(String[] args) {
      for (int i = 0; i < 5000; i++) { ${Object.keys(JAVA)
        .map((name) => `${name}.run(i % 2 * 2);`)
        .join(' ')} }
    }
  }`

/** Returns code in which case n pushes `junkOf(n)` values below the returned value. */
function junk(
  count: number,
  junkOf: (n: number) => number,
  major: number,
): Partial<Assembly> & { code: string } {
  const numbers = Array.from({ length: count }, (_, n) => n)
  const bodies = numbers.map((n) => {
    const below = 'iconst_5 | '.repeat(junkOf(n))
    return `c${n}: ${below}${'nop | '.repeat(2 - junkOf(n))}sipush ${n} | ireturn`
  })
  const labels = numbers.map((n) => `c${n}`).join(' ')
  // Each case has the same frame as the method entry. Consecutive frames are 6 bytes apart.
  const frames = [count >>> 8, count & 0xff, 251, 'c0', ...Array<number>(count - 1).fill(5)]
  return {
    major,
    code: `iload_0 | tableswitch 0 ${labels} default c0 | ${bodies.join(' | ')}`,
    attributes: major >= 50 ? { StackMapTable: frames } : {},
  }
}

const CODE = {
  // One return in ten cannot share an exit.
  JunkOld: junk(570, (n) => (n % 10 === 3 ? 2 : 0), 49),
  JunkNew: junk(570, (n) => (n % 10 === 3 ? 1 : 0), 61),
}

/** Expected events and result of each call. */
const CALLS: Record<string, string> = {
  'Ints:0': 'run> pick> pick< run< -> 70000',
  'Ints:649': 'run> pick> pick< run< -> 70649',
  'Ints:650': 'run> pick> pick< run< -> IllegalArgumentException: no case',
  'Longs:599': 'run> pick> pick< run< -> 70599',
  'Longs:-1': 'run> pick> pick< run< -> IllegalArgumentException: no case',
  'Floats:3': 'run> pick> pick< run< -> 3.5',
  'Doubles:599': 'run> pick> pick< run< -> 599.25',
  'Strings:0': 'run> pick> pick< run< -> s0',
  'Strings:649': 'run> pick> pick< run< -> s649',
  'Strings:-1': 'run> pick> pick< run< -> IllegalArgumentException: no case',
  'Arrays:599': '<clinit>> <clinit>< run> pick> pick< run< -> 1',
  'Voids:7': 'run> pick> pick< run< -> 1007',
  'Voids:560': 'run> pick> pick< run< -> IllegalArgumentException: no case',
  'Made:9': 'run> Derived.<init>> argument> argument< Base.<init>> Base.<init>< Derived.<init>< run< -> 1009',
  'Made:500':
    'run> Derived.<init>> argument> argument< Base.<init>> Base.<init>< Derived.<init>< run< -> IllegalArgumentException: no case',
  'Made:1': // thrown by super(), which no handler of jfluid may cover
    'run> Derived.<init>> argument> argument< Base.<init>> Base.<init>< run< -> IllegalStateException: base',
  'Locked:599': 'run> <init>> <init>< pick> pick< run< -> 70599 false',
  'Locked:600': 'run> <init>> <init>< pick> pick< run^ run< -> no case false',
  'Guarded:498': 'run> pick> risk> risk< pick< run< -> 70498',
  'Guarded:99': 'run> pick> risk> risk< pick< run< -> -70099',
  'Guarded:151': 'run> pick> risk> risk< pick< run< -> IllegalStateException',
  'JunkOld:3': 'run> run< -> 3',
  'JunkOld:4': 'run> run< -> 4',
  'JunkNew:3': 'run> run< -> 3',
  'JunkNew:4': 'run> run< -> 4',
}

/** Class and name of each large method. */
const LARGE = [...Object.keys(JAVA), ...Object.keys(CODE)].map((name) => {
  if (name === 'Made') return ['Made$Derived', '<init>']
  return [name, name in JAVA ? 'pick' : 'run']
})

forNewestJdk((jdk) => {
  let traces: Traces
  beforeAll(async () => {
    traces = await traceCalls(jdk, { java: { ...JAVA, Loop: LOOP }, code: CODE }, Object.keys(CALLS))
  }, 60_000)

  it('every method gets probes and stays below 8,000 bytes in compact form', () => {
    assert.deepEqual(traces.skipped, [])
    const [before, after] = traces.directories.map(classFiles)
    for (const [className, name] of LARGE) {
      const [old, now] = [before, after].map((classes) => {
        const classFile = classes.get(className)!
        return parseCode(classFile, classFile.methods.find((method) => method.name === name)!).bytecode
      })
      const gotos = (code: Uint8Array) => code.filter((byte) => byte === GOTO).length
      assert.ok(now.length <= 8000, `${className}: ${old.length} bytes have become ${now.length}`)
      assert.ok(gotos(now) > gotos(old) + 100, className)
    }
  })

  it.each(Object.entries(CALLS))('the call %s has the expected result and events: %s', (call, expected) => {
    assert.equal(traces.traced.get(call), expected)
    assert.equal(traces.plain.get(call), expected.slice(expected.indexOf('->')))
  })

  it("jfluid's type checker accepts each method in compact form, and the compact form adds no requirement on other classes", () => {
    const [before, after] = traces.directories.map(classFiles)
    let checked = 0
    for (const [name, classFile] of after) {
      if (classFile.major < 51) continue
      const old = new TypeChecker(before.get(name)!, KNOWS_NOTHING)
      const checker = new TypeChecker(classFile, KNOWS_NOTHING)
      for (const method of classFile.methods) {
        const known = old.check(before.get(name)!.methods[method.index])
        assert.ok(known.ok, `${name}.${method.name}`)
        const result = checker.check(method, known.assumptions)
        assert.ok(result.ok, `${name}.${method.name}: ${JSON.stringify(result)}`)
        checked++
      }
    }
    assert.ok(checked > LARGE.length)
  })

  it('HotSpot compiles each method in compact form', async () => {
    const runtime = await compileRuntime(jdk, SILENT_RUNTIME)
    const { stdout, code } = await runJava(jdk, [
      ...VERIFY_ALL,
      ...['-Xbatch', '-XX:TieredStopAtLevel=1', '-XX:+PrintCompilation'],
      ...['--patch-module', `java.base=${runtime}`, '-cp', traces.directories[1], 'Loop'],
    ])
    assert.equal(code, 0)
    for (const [className, name] of LARGE) {
      if (!className.startsWith('Junk')) assert.ok(stdout.includes(` ${className}::${name} (`), className)
    }
  }, 60_000)
})
