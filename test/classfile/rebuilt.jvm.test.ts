// A class file rebuilt from debugger data contains all calls of the original class file, and additional calls for lambdas.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ClassFile, ClassFormatProblem, parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { CONSTANT_INVOKE_DYNAMIC, MAX_POOL_COUNT } from '../../src/classfile/constant-pool.ts'
import { type ClassParts, rebuildClass } from '../../src/classfile/rebuilt.ts'
import { readBody, siteKey } from '../../src/reveal/call-sites.ts'
import { compileJava } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'

const KNOWN_TREE = readFileSync(new URL('../fixtures/KnownTree.java', import.meta.url), 'utf8')
const LAMBDAS = `
  import java.util.function.*;
  class Lambdas {
    record Point(int x, String y) {}
    int inst(int x) { return x; }
    static int plus(int a, int b) { return a + b; }
    static int twice(int a) { return 2 * a; }
    static String text(long n, Object o) { return n + "x" + o; }
    static Object uses(int base, long n, Lambdas me) {
      IntUnaryOperator captures = x -> plus(x, base);
      Supplier<String> otherwise = () -> text(n, "y");
      IntUnaryOperator bound = me::inst;
      IntUnaryOperator none = Lambdas::twice;
      return new Object[] { captures, otherwise, bound, none };
    }
  }`

/** Returns the data that `VirtualMachine.ConstantPool`, `Method.Bytecodes` and other commands would return. */
function toldOf(file: ClassFile): ClassParts {
  const { major, pool, access, name, superName, interfaces } = file
  return {
    ...{ major, access, name, superName, interfaces },
    pool: { count: pool.count, bytes: pool.bytes.subarray(10, pool.end) },
    methods: file.methods.map((it) => ({
      ...{ access: it.access, name: it.name, descriptor: it.descriptor },
      bytecode: it.code === undefined ? null : parseCode(file, it).bytecode,
    })),
  }
}

const compiled = compileJava(newest, { 'Lambdas.java': LAMBDAS, 'fix/KnownTree.java': KNOWN_TREE }).then(
  classesIn,
)

async function classNamed(name: string): Promise<ClassFile> {
  return (await compiled).find((it) => it.name === name)!
}

function classesIn(dir: string): ClassFile[] {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((it) => it.endsWith('.class'))
  return names.map((it) => parseClassFile(readFileSync(join(dir, it))))
}

const sitesOf = (file: ClassFile): string[][] =>
  file.methods.map((it) => readBody(file, it).sites.map(siteKey).sort())

const hasDynamic = ({ pool }: ClassFile): boolean =>
  Array.from({ length: pool.count }, (_, i) => pool.tag(i)).includes(CONSTANT_INVOKE_DYNAMIC)

describe('a class file rebuilt from the data that the JVM sent', () => {
  it('a rebuilt class file has the methods and calls of the original class, and at least as many possible calls at invokedynamic call sites', async () => {
    const files = await compiled
    expect(files.filter(hasDynamic).length).toBeGreaterThan(1)
    expect(files.some((it) => !hasDynamic(it))).toBe(true)
    for (const file of files) {
      const rebuilt = parseClassFile(rebuildClass(toldOf(file)))
      expect([rebuilt.name, rebuilt.superName, rebuilt.interfaces]).toEqual([
        file.name,
        file.superName,
        file.interfaces,
      ])
      const [own, told] = [sitesOf(file), sitesOf(rebuilt)]
      if (!hasDynamic(file)) expect(told, file.name).toEqual(own)
      else expect(told, file.name).toEqual(own.map((sites): unknown => expect.arrayContaining(sites)))
    }
  })

  it('in a rebuilt class file, a lambda may call each method whose first parameter types are those of the captured values', async () => {
    const rebuilt = parseClassFile(rebuildClass(toldOf(await classNamed('Lambdas'))))
    const uses = rebuilt.methods.find((it) => it.name === 'uses')!
    const handles = readBody(rebuilt, uses).lambdas.map((it) =>
      it.handles.map((of) => ('name' in of ? of.name : '')).sort(),
    )
    // The lambdas capture an int, a long, a receiver, and nothing. `plus` and `text` are called directly, not through handles.
    expect(handles).toEqual([
      ['lambda$uses$0', 'twice'],
      ['lambda$uses$1'],
      ['inst'],
      ['inst', 'lambda$uses$0', 'lambda$uses$1', 'twice'],
    ])
  })

  it('a class file is not rebuilt if its constant pool is invalid or full', async () => {
    const told = toldOf(await classNamed('Lambdas'))
    for (const pool of [
      { count: told.pool.count + 1, bytes: told.pool.bytes },
      { count: 2, bytes: Uint8Array.of(99) },
      { count: MAX_POOL_COUNT, bytes: new Uint8Array(MAX_POOL_COUNT * 3).fill(0) },
    ])
      expect(() => rebuildClass({ ...told, pool })).toThrow(ClassFormatProblem)
  })
})
