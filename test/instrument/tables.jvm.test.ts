// Tables of the code, read by javap without and with probes. Line numbers, local variables with and without generic types, type annotations
// and exception rows must refer to the same instructions.
//
// An instruction is identified by its number among the original instructions. A probe has the number of the next original instruction, so
// each place has the same number in both listings.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, it } from 'vitest'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { classesIn, instrumentAll, writeClass } from './jvm.ts'

const ANNOTATED = `
  import java.lang.annotation.*;
  import java.util.*;
  import java.util.function.*;

  class Annotated {
    @Target(ElementType.TYPE_USE) @Retention(RetentionPolicy.RUNTIME) @interface Seen { int value(); }
    @Target(ElementType.TYPE_USE) @Retention(RetentionPolicy.CLASS) @interface Unseen {}

    static <T> T id(T t) { return t; }
    <T> Annotated(T t) {}

    static Object run(Object o, long skip) throws Exception {
      @Seen(1) String local = "x";
      Map<@Seen(2) String, @Unseen List<@Seen(3) ?>> map = new @Seen(4) HashMap<>();
      for (@Unseen int i = 0; i < 3; i++) {
        @Seen(5) double wide = i * 2.0;
        map.put(local + wide, null);
        if (o == null) return wide;
      }
      if (o instanceof @Seen(6) String) return (@Seen(7) String) o;
      try (@Seen(8) AutoCloseable resource = () -> {}) {
        o = new @Unseen int[3];
      } catch (@Seen(9) RuntimeException e) {
        throw e;
      }
      Supplier<List<String>> made = ArrayList<@Seen(10) String>::new;
      Function<Object, Annotated> called = @Seen(11) Annotated::new;
      Object generic = Annotated.<@Seen(12) String>id(local);
      new <@Seen(13) String> Annotated(local);
      return made.get().isEmpty() ? map : generic;
    }

    Annotated(boolean first) {
      this(first ? new @Seen(14) Object() : "other");
      @Seen(15) Object after = new @Unseen Object();
    }
  }`

interface Listing {
  /** Bytecode index of each instruction. */
  readonly instructions: number[]
  readonly names: string[]
  /** Table rows with their text and their bytecode indexes. */
  readonly rows: { text: string; places: number[] }[]
}

const PROBE = /invokestatic .*\/\/ Method java\/lang\/JFluid1\./

/** Returns the methods in the output of `javap -v`, keyed by name and descriptor. */
function parse(output: string): Map<string, Listing> {
  const methods = new Map<string, Listing>()
  let heading = ''
  let section = ''
  let listing: Listing | undefined
  const add = (text: string, ...places: number[]) => listing?.rows.push({ text, places })
  for (const line of output.split('\n')) {
    if (/^ {2}\S.*[;{]$/.test(line)) heading = line.trim()
    const title = /^ {4,6}([A-Z]\w*( table)?):/.exec(line)
    if (title !== null) section = title[1]
    if (section === 'Code' && title !== null) {
      listing = { instructions: [], names: [], rows: [] }
      methods.set(heading, listing)
    }
    if (line.trim() === '') listing = undefined
    if (listing === undefined) continue
    const numbers = [...line.matchAll(/\d+/g)].map(Number)
    const instruction = /^\s+(\d+): ([a-z]\w*)/.exec(line)
    if (section === 'Code' && instruction !== null) {
      listing.instructions.push(Number(instruction[1]))
      listing.names.push(PROBE.test(line) ? 'probe' : instruction[2])
    } else if (section === 'LineNumberTable' && /^\s+line \d+: \d+$/.test(line)) {
      add(`line ${numbers[0]}`, numbers[1])
    } else if (/^LocalVariable(Type)?Table$/.test(section) && /^\s+\d+ +\d+ +\d+ /.test(line)) {
      const [start, length, slot] = numbers
      add(`${section} ${slot} ${line.trim().split(/\s+/).slice(3).join(' ')}`, start, start + length)
    } else if (section === 'Exception table' && /^\s+\d+ +\d+ +\d+ /.test(line)) {
      const [from, to, target] = numbers
      add(`catch ${line.trim().split(/\s+/).slice(3).join(' ')}`, from, to, target)
    } else if (/TypeAnnotations$/.test(section) && /^\s+\d+: #/.test(line)) {
      const places = [...line.matchAll(/(start_pc|offset)=(\d+)(?:, length=(\d+))?/g)].flatMap(
        ([, , start, length]) =>
          length === undefined ? [Number(start)] : [Number(start), Number(start) + Number(length)],
      )
      add(`${section} ${line.trim().replace(/(start_pc|offset|length)=\d+/g, '$1')}`, ...places)
    }
  }
  return methods
}

/** Returns the rows with instruction numbers instead of bytecode indexes. */
function placed({ instructions, names, rows }: Listing): string[] {
  // A probe is `bipush 100 | invokestatic`. Both instructions are left out.
  const own = instructions.filter((_, i) => names[i] !== 'probe' && names[i + 1] !== 'probe')
  const ordinal = (bci: number) => own.filter((at) => at < bci).length
  return rows.map(({ text, places }) => `${text} @ ${places.map(ordinal).join(' ')}`)
}

async function javap(jdk: Jdk, dir: string, className: string): Promise<Map<string, Listing>> {
  const args = ['-v', '-p', '-cp', dir, className]
  const { stdout } = await promisify(execFile)(join(jdk.tools, 'javap'), args, { maxBuffer: 16 << 20 })
  return parse(stdout)
}

forEachJdk((jdk) => {
  let before: Map<string, Listing>
  let after: Map<string, Listing>
  const rows = (methods: Map<string, Listing>, kind: RegExp) =>
    [...methods].flatMap(([name, listing]) =>
      placed(listing)
        .filter((row) => kind.test(row))
        .map((row) => `${name} ${row}`),
    )

  beforeAll(async () => {
    const plain = await compileJava(jdk, { Annotated: ANNOTATED }, { options: ['-g'] })
    const dir = temporaryDirectory()
    for (const { classFile } of classesIn(plain)) {
      writeClass(dir, classFile.name, instrumentAll(classFile, () => 100).bytes)
    }
    before = await javap(jdk, plain, 'Annotated')
    after = await javap(jdk, dir, 'Annotated')
  }, 60_000)

  describe.each([
    ['the table of line numbers', /^line/, 20],
    ['the table of local variables', /^LocalVariableTable/, 12],
    ['the table of generic types of local variables', /^LocalVariableTypeTable/, 3],
    ['the table of runtime-visible type annotations in code', /^RuntimeVisibleTypeAnnotations/, 15],
    ['the table of runtime-invisible type annotations in code', /^RuntimeInvisibleTypeAnnotations/, 4],
  ])('rows of %s', (_, kind, least) => {
    it("the table's rows refer to the same instructions with and without probes", () => {
      const expected = rows(before, kind)
      assert.ok(expected.length >= least, expected.join('\n'))
      assert.deepEqual(rows(after, kind), expected)
    })
  })

  it('in the exception table, the original rows refer to the same instructions with and without probes; rows of probes are last', () => {
    let ours = 0
    for (const [name, listing] of before) {
      const expected = placed(listing).filter((row) => row.startsWith('catch'))
      const found = placed(after.get(name)!).filter((row) => row.startsWith('catch'))
      assert.deepEqual(found.slice(0, expected.length), expected, name)
      assert.ok(found.slice(expected.length).every((row) => row.startsWith('catch any')))
      ours += found.length - expected.length
    }
    assert.ok(ours > before.size)
  })
})
