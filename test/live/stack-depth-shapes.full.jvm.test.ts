// Maximum depth of recursions with many kinds of methods on a stack of 1 MiB. The depth with probes is compared with the depth before the
// attach: docs/target.md.

import { beforeAll, describe, expect, it } from 'vitest'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'

interface Shape {
  readonly name: string
  readonly returns: string
  /** Number of parameters and local variables. */
  readonly variables: number
  readonly parameters: number
  readonly type: 'int' | 'Object'
}

const RETURNS = ['void', 'int', 'long', 'float', 'double', 'Object']
const SHAPES: readonly Shape[] = RETURNS.flatMap((returns) =>
  [1, 8, 12, 16].flatMap((variables) =>
    (variables === 1 ? [1] : [1, 4]).flatMap((parameters) =>
      (['int', 'Object'] as const).flatMap((type) =>
        type === 'Object' && (variables === 1 || returns === 'void')
          ? []
          : { name: `${returns}_${variables}_${parameters}_${type}`, returns, variables, parameters, type },
      ),
    ),
  ),
)

/** Returns a method that calls itself with its depth, and uses each variable before and after the call. */
function method({ name, returns, variables, parameters, type }: Shape): string {
  const given = Array.from({ length: parameters - 1 }, (_, i) => `a${i}`)
  const own = Array.from({ length: variables - parameters }, (_, i) => `v${i}`)
  const value = (i: number) => {
    if (type === 'Object') return `pool[(n + ${i}) & 3]`
    const before = [...given, ...own.slice(0, i)]
    return before.length === 0 ? 'n * 3' : `${before[(i * 7) % before.length]} * ${i + 3} ^ n`
  }
  const all = [...given, ...own]
  const used = all.map((it, i) =>
    type === 'int' ? ` + ${it}` : ` + (${it} == pool[${i & 3}] ? ${i + 1} : 0)`,
  )
  const call = `${name}(${['n + 1', ...given.map((_, i) => own[i])].join(', ')})`
  const end = {
    void: `${call}; sink = n${used.join('')};`,
    Object: `Object r = ${call}; return (0${used.join('')}) == 17 ? r : pool[n & 3];`,
  }[returns]
  return `
  static ${returns} ${name}(${['int n', ...given.map((it) => `${type} ${it}`)].join(', ')}) {
    depth = n;
    if (n >= limit) return${returns === 'void' ? '' : returns === 'Object' ? ' pool[0]' : ' 0'};
    ${own.map((it, i) => `${type} ${it} = ${value(i)};`).join(' ')}
    ${end ?? `${returns} r = ${call}; return r${used.join('')} + 1;`}
  }`
}

const first = ({ name, parameters, type }: Shape) =>
  `${name}(${['1', ...Array.from({ length: parameters - 1 }, (_, i) => (type === 'int' ? `${i + 2}` : `pool[${i}]`))].join(', ')})`

/**
 * Reads the name of a method, and prints the maximum depth of several recursions. Before that, calls the method often enough to have it
 * compiled, unless the JVM runs interpreted.
 */
const PROGRAM = `
  package fix;
  public class Shapes {
    static final int SHALLOW = 300, WARM = 150, TRIES = 5;
    static Object[] pool = {"a", "b", "c", "d"};
    static int depth, limit, sink;
    ${SHAPES.map(method).join('')}
    static void root(String shape) {
      try {
        switch (shape) {
          ${SHAPES.map((shape) => `case "${shape.name}": ${first(shape)}; break;`).join('\n          ')}
        }
      } catch (StackOverflowError end) {
      }
    }
    static int deepest(String shape) {
      limit = SHALLOW;
      for (int i = 0; i < WARM; i++) root(shape);
      limit = Integer.MAX_VALUE;
      int deepest = 0;
      for (int i = 0; i < TRIES; i++) {
        root(shape);
        deepest = Math.max(deepest, depth);
      }
      return deepest;
    }
    public static void main(String[] args) throws Exception {
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        String shape = line;
        Thread t = new Thread(null, () -> System.out.println("depth " + deepest(shape)), "deep", 1 << 20);
        t.start();
        t.join();
      }
    }
  }`

/**
 * C2 inlines a recursive method into itself up to 325 bytes (FreqInlineSize), which makes frames smaller. These methods are below this
 * limit without probes and above it with probes.
 */
const NO_LONGER_INLINED = /^(?:long|float|double|Object)_12_4_Object$/

/**
 * Minimum part of the depth that remains with probes: for methods with eight or more variables, for methods with one variable, and for
 * methods that C2 no longer inlines.
 */
const COMPILERS: readonly (readonly [
  name: string,
  options: string[],
  many: number,
  one: number,
  noLongerInlined: number,
])[] = [
  ['interpreted', ['-Xint'], 0.99, 0.99, 0.99],
  ['compiled by C1', ['-XX:TieredStopAtLevel=1', '-Xbatch'], 0.88, 0.6, 0.88],
  ['compiled by C2', ['-Xbatch'], 0.85, 0.7, 0.6],
]

forEachJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Shapes': PROGRAM })
  })

  describe.each(COMPILERS)('stack depth of code %s', (_, options, many, one, noLongerInlined) => {
    it('with probes, recursions of all shapes reach most of the depth that they reach without probes', async () => {
      const java = startJava(jdk, [...options, '-cp', classes, 'fix.Shapes'])
      await java.line(/ready/)
      let answers = 0
      const depths = async () => {
        const all = new Map<string, number>()
        for (const { name } of SHAPES) {
          java.send(name)
          all.set(name, Number((await java.line(/^depth /, ++answers)).split(' ')[1]))
        }
        return all
      }
      const before = await depths()
      const recording = startRecording(java.pid, '--root', 'fix.Shapes.root')
      await recording.started
      const inside = await depths()
      await recording.stop()

      const kept = SHAPES.map(({ name, variables }) => ({
        name,
        least: variables === 1 ? one : NO_LONGER_INLINED.test(name) ? noLongerInlined : many,
        keeps: inside.get(name)! / before.get(name)!,
      }))
      expect(kept.filter(({ keeps, least }) => keeps < least)).toEqual([])
    })
  })
})
