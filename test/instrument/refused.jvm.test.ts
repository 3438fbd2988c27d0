// Class files that no probe can be put into, made by hand: each is refused as data, with a reason that
// `skipped` shows, and the JVM takes what it would have taken without us.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { MAX_POOL_COUNT } from '../../src/classfile/constant-pool.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
import { Instrumenter, type Task } from '../../src/session/code/instrumenter.ts'
import type { Agent } from '../../src/wire/agent.ts'
import { forEachJdk } from '../support/jdks.ts'
import { hotspotVerdicts } from '../typecheck/verdicts.ts'
import { assemble } from './assembler.ts'

const TASK: Task = {
  id: 1,
  classId: 7,
  className: 'T',
  name: 'half',
  descriptor: '(I)I',
  probe: 'method',
}
/** Entries that a class gains (see `method.test.ts`). */
const BLOCK = 25

/** With lines and a frame at bci 5. */
const half = (more = '', major = 61): ClassFile =>
  assemble({
    method: 'half(I)I',
    code: `iload_0 | ifle a | nop | a: ${more} iconst_0 | ireturn`,
    major,
    attributes: { LineNumberTable: [0, 1, 0, 0, 0, 7], StackMapTable: [0, 1, 5] },
  })

/** What a session is told of the class when it is loaded: bodies sent, reasons shown. */
function asked(bytes: Uint8Array): { bodies: number; reasons: string[] } {
  const instrumenter = new Instrumenter({} as Agent) // at load nothing is asked of it
  const { answer, refusals } = instrumenter.atLoad(TASK.classId, bytes, [TASK], [])
  assert.ok(refusals.every(({ task }) => task === TASK))
  return { bodies: answer.bodies.length, reasons: refusals.map(({ reason }) => reason) }
}

/** The class with Integers until its pool has this many entries. */
function withEntries(classFile: ClassFile, count: number): Uint8Array {
  const filler = count - classFile.pool.count
  const bytes = new Uint8Array(5 * filler)
  for (let i = 0; i < filler; i++) bytes[5 * i] = 3
  return spliceClass(classFile, filler, bytes, [])
}

it('the class that these tests damage is instrumented as it is', () => {
  assert.deepEqual(asked(half().bytes), { bodies: 1, reasons: [] })
})

describe('a constant pool of 65,535 entries', () => {
  it('has no room for the names that probes need', () => {
    const full = withEntries(half(), MAX_POOL_COUNT)
    assert.equal(parseClassFile(full).pool.count, 65535)
    assert.deepEqual(asked(full), { bodies: 0, reasons: ['no room in the constant pool'] })
    const short = withEntries(half(), MAX_POOL_COUNT - blockOf(half()) + 1)
    assert.deepEqual(asked(short).reasons, ['no room in the constant pool'])
  })

  it('is filled to the last entry where the names fit', () => {
    assert.deepEqual(asked(withEntries(half(), MAX_POOL_COUNT - blockOf(half()))), { bodies: 1, reasons: [] })
  })
})

/** Of the block's entries the class has one already, the text `StackMapTable`. */
function blockOf({ pool }: ClassFile): number {
  for (let index = 1; index < pool.count; index++) {
    if (pool.tag(index) === 1 && pool.utf8(index) === 'StackMapTable') return BLOCK - 1
  }
  return BLOCK
}

describe('a method of 65,535 bytes', () => {
  const largest = half('nop*65528 |')
  it('cannot grow', () => {
    assert.equal(parseCode(largest, largest.methods[0]).bytecode.length, 65535)
    assert.deepEqual(asked(largest.bytes), { bodies: 0, reasons: ['would pass 65535 bytes'] })
  })
})

/** Each attribute of the method and of its code that has a length to lie about. */
function lies(): { what: string; bytes: Uint8Array }[] {
  const classFile = half()
  const [method] = classFile.methods
  return [method.code!, ...parseCode(classFile, method).attributes].flatMap(({ name, offset, length }) =>
    [0, length - 1, length + 1, 0x7fffffff, 0xffffffff].map((lie) => {
      const bytes = Uint8Array.from(classFile.bytes)
      new DataView(bytes.buffer).setUint32(offset - 4, lie)
      return { what: `${name} of ${length} bytes says ${lie}`, bytes }
    }),
  )
}

describe('an attribute that lies about its length', () => {
  it('costs the class its probes, not the session', () => {
    for (const { what, bytes } of lies()) {
      const { bodies, reasons } = asked(bytes)
      assert.equal(bodies, 0, what)
      assert.equal(reasons.length, 1, what)
      assert.match(
        reasons[0],
        /truncated|too many|is not of tag|no Code attribute|bytes of code|type-check/,
        what,
      )
    }
  })

  it('may lie about the number of its rows as well', () => {
    const classFile = half()
    const [method] = classFile.methods
    for (const { name, offset } of parseCode(classFile, method).attributes) {
      const bytes = Uint8Array.from(classFile.bytes)
      bytes.set([0xff, 0xff], offset)
      assert.match(asked(bytes).reasons[0], /^malformed: truncated/, name)
    }
  })
})

forEachJdk((jdk) => {
  it('HotSpot takes the full pool and the largest method as they are, and no lie', async () => {
    const classes = [
      withEntries(half(), MAX_POOL_COUNT),
      half('nop*65528 |').bytes,
      ...lies().map(({ bytes }) => bytes),
    ]
    const verdicts = await hotspotVerdicts(
      jdk,
      [],
      classes.map((bytes) => ({ name: 'T', bytes })),
    )
    assert.deepEqual(verdicts.slice(0, 2), ['[accepted]', '[accepted]'])
    for (const verdict of verdicts.slice(2)) assert.match(verdict, /^\[unloaded java\.lang\.ClassFormatError/)
  })
})
