import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
import { decodeStackMap } from '../../src/classfile/stack-map.ts'
import { EXACT_TIME, instrumentClass, type Probe, type Recipe } from '../../src/instrument/class.ts'
import { type Assembly, assemble, listing } from './assembler.ts'

function instrumented(classFile: ClassFile, id = 7, probe: Probe = 'method'): ClassFile {
  const { poolBytes, poolEntries, bodies, skipped } = instrumentClass(classFile, [
    { methodIndex: 0, id, probe },
  ])
  assert.deepEqual(skipped, [])
  return parseClassFile(spliceClass(classFile, poolEntries, poolBytes, bodies))
}

function skipped(assembly: Assembly, id = 7): string {
  const result = instrumentClass(assemble(assembly), [{ methodIndex: 0, id, probe: 'method' }])
  assert.deepEqual(result.bodies, [])
  return result.skipped[0].reason
}

/** Returns the listing of a method instrumented with id 7. A probe with a small id has 5 bytes. */
function shape(assembly: Assembly): string[] {
  return listing(instrumented(assemble(assembly)))
}

describe('a method with probes', () => {
  it('a method that only returns has no handler', () => {
    assert.deepEqual(shape({ method: 'run()V', code: 'return' }), ['0 enter 7', '5 exit 7', '10 return'])
  })

  it('a method has an exit probe before each return, and an exit probe in a handler for exceptions', () => {
    assert.deepEqual(
      shape({ method: 'run(I)I', code: 'iload_0 | ifeq no | iconst_1 | ireturn | no: iconst_0 | ireturn' }),
      [
        '0 enter 7',
        '5 iload_0',
        '6 ifeq 16',
        '9 iconst_1',
        '10 exit 7',
        '15 ireturn',
        '16 iconst_0',
        '17 exit 7',
        '22 ireturn',
        '23 thrown 7',
        '28 athrow',
        '[5, 10) -> 23', // excludes the return and its probe, so that an exit is recorded only once
        '[16, 17) -> 23',
      ],
    )
  })

  it('a jump to the first instruction does not run the entry probe again', () => {
    assert.deepEqual(shape({ method: 'run(I)V', code: 'top: iinc 0 255 | iload_0 | ifne top | return' }), [
      '0 enter 7',
      '5 iinc',
      '8 iload_0',
      '9 ifne 5',
      '12 exit 7',
      '17 return',
      '18 thrown 7',
      '23 athrow',
      '[5, 12) -> 18',
    ])
  })

  it('a jump to a return instruction runs the exit probe', () => {
    const lines = shape({ method: 'run(I)V', code: 'iload_0 | ifeq out | nop | out: return' })
    assert.ok(lines.includes('6 ifeq 10') && lines.includes('10 exit 7') && lines.includes('15 return'))
  })

  it('a method that never returns has a handler', () => {
    assert.deepEqual(shape({ method: 'run()V', code: 'top: goto top' }), [
      '0 enter 7',
      '5 goto 5',
      '8 thrown 7',
      '13 athrow',
      '[5, 8) -> 8',
    ])
  })

  it("in the exception table, the method's own handlers come before the probe's handler", () => {
    const code = 'from: nop | to: return | catch: pop | return'
    assert.deepEqual(
      shape({ method: 'run()V', code, handlers: 'from..to -> catch' }).filter((line) => line.startsWith('[')),
      ['[5, 6) -> 12', '[5, 6) -> 19', '[12, 13) -> 19'],
    )
  })

  it("a handler's range that begins at the first instruction excludes the entry probe", () => {
    const rows = shape({ method: 'run()V', code: 'a: nop | b: athrow', handlers: 'a..end -> b' })
    assert.ok(rows.includes('[5, 7) -> 6'), rows.join('\n'))
  })

  it('a switch instruction is padded for its new position', () => {
    for (const nops of [0, 1, 2, 3]) {
      const before = nops === 0 ? '' : `nop*${nops} | `
      const table = `${before}iload_0 | tableswitch 5 a b default c | a: nop | b: nop | c: return`
      const a = 5 + nops + 1 + 1 + (3 - ((6 + nops) & 3)) + 20
      assert.ok(
        shape({ method: 'run(I)V', code: table }).includes(
          `${6 + nops} tableswitch ${a} ${a + 1} default ${a + 2}`,
        ),
      )
      const lookup = `${before}iload_0 | lookupswitch -9 a 70000 b default c | a: nop | b: nop | c: return`
      const lines = shape({ method: 'run(I)V', code: lookup })
      const start = 5 + nops + 1 + 1 + (3 - ((6 + nops) & 3)) + 24
      assert.ok(
        lines.includes(`${6 + nops} lookupswitch ${start} ${start + 1} default ${start + 2}`),
        lines.join('\n'),
      )
    }
  })

  it('the subroutines of a method (jsr and ret) stay in the code with probes', () => {
    const lines = shape({
      method: 'run()V',
      code: 'jsr sub | return | sub: astore_0 | ret 0',
    })
    assert.deepEqual(lines.slice(0, 6), [
      '0 enter 7',
      '5 jsr 14',
      '8 exit 7',
      '13 return',
      '14 astore_0',
      '15 ret',
    ])
  })
})

describe('the resume probe in a handler of the method', () => {
  const CALL = 'invokestatic T.risk()V'
  const handled = (code: string, handlers = 'from..to -> catch', more: Partial<Assembly> = {}) =>
    shape({ method: 'run(I)V', code, handlers, ...more })
  const resumes = (...args: Parameters<typeof handled>) =>
    handled(...args).filter((line) => line.includes('resume'))

  it('a handler begins with the resume probe, and the exception table refers to that probe', () => {
    assert.deepEqual(handled(`from: ${CALL} | to: return | catch: pop | ${CALL} | return`), [
      '0 enter 7',
      '5 invokestatic T.risk',
      '8 exit 7',
      '13 return',
      '14 resume 7',
      '19 pop',
      '20 invokestatic T.risk',
      '23 exit 7',
      '28 return',
      '29 thrown 7',
      '34 athrow',
      '[5, 8) -> 14',
      '[5, 8) -> 29',
      '[14, 23) -> 29',
    ])
  })

  it('a handler has one resume probe for all its rows in the exception table', () => {
    const rows = 'from..to -> catch | to..catch -> catch'
    assert.deepEqual(resumes(`from: ${CALL} | to: ${CALL} | return | catch: pop | ${CALL} | return`, rows), [
      '17 resume 7',
    ])
  })

  it.each([
    ['guards no call', `from: iload_0 | pop | to: return | catch: pop | ${CALL} | return`],
    ['only throws the exception again', `from: ${CALL} | to: return | catch: astore_1 | aload_1 | athrow`],
    [
      'makes no call afterwards',
      `from: ${CALL} | to: return | catch: pop | iload_0 | ifeq a | nop | a: return`,
    ],
  ])('a handler has no resume probe if it %s', (_, code) => {
    assert.deepEqual(resumes(code, 'from..to -> catch', { maxLocals: 2 }), [])
  })

  it.each([
    ['after a branch of the handler', `pop | iload_0 | ifeq a | return | a: ${CALL} | return`],
    [
      'in another handler that an exception in this handler may reach',
      `pop | m: iconst_1 | iload_0 | idiv | n: pop | return | o: pop | ${CALL} | return`,
    ],
  ])('a handler has a resume probe if there is a call %s', (_, rest) => {
    const rows = rest.includes('m:') ? 'from..to -> catch | m..n -> o' : 'from..to -> catch'
    assert.equal(resumes(`from: ${CALL} | to: return | catch: ${rest}`, rows).length, 1)
  })

  it.each([
    ['takes a lock', 'pop | aconst_null | monitorenter | return'],
    ['loops', 'top: pop | iload_0 | ifne from | return'],
  ])('a handler has a resume probe if it %s', (_, rest) => {
    assert.equal(resumes(`from: ${CALL} | to: return | catch: ${rest}`).length, 1)
  })

  it('a handler has no resume probe if a stack overflow in the probe would return to the handler', () => {
    const itself = `from: ${CALL} | to: return | catch: pop | ${CALL} | end: return`
    assert.deepEqual(resumes(itself, 'from..to -> catch | catch..end -> catch'), [])
    const other = `from: ${CALL} | to: return | catch: pop | ${CALL} | return | two: pop | ${CALL} | end: return`
    assert.deepEqual(resumes(other, 'from..to -> catch | catch..two -> two | two..end -> catch'), [])
    assert.equal(resumes(other, 'from..to -> catch | catch..two -> two').length, 2)
  })

  it('handlers have no resume probe in a method that would become too long', () => {
    const code = (nops: number) => `from: ${CALL} | to: return | catch: pop | ${CALL} | nop*${nops} | return`
    // The code has 9 bytes and the nops. The other probes need 5 + 2 * 5 + 6 = 21 bytes, and the resume probe needs 5 bytes.
    assert.equal(resumes(code(8000 - 9 - 26)).length, 1)
    assert.equal(resumes(code(8000 - 9 - 25)).length, 0)
    assert.equal(handled(code(8000 - 9 - 21)).includes('13 return'), true)
  })

  it('handlers have no resume probe if the analysis would take too long', () => {
    // An exception in a handler is caught by the next handler, so the analysis of the first handler includes all handlers.
    const chain = (length: number) => {
      const ends = Array.from({ length }, (_, i) => (i + 1 < length ? `h${i + 1}` : 'end'))
      const labels = ends.map((_, i) => `h${i}: ${CALL} | pop | return`)
      return resumes(
        `from: ${CALL} | to: return | ${labels.join(' | ')}`,
        ends
          .flatMap((next, i) => [
            `from..to -> h${i}`,
            ...(next === 'end' ? [] : [`h${i}..${next} -> ${next}`]),
          ])
          .join(' | '),
      ).length
    }
    assert.equal(chain(50), 50)
    const many = chain(2500)
    assert.ok(many > 0 && many < 2500, `${many} probes`)
  })

  it('a handler that follows a subroutine is analysed', () => {
    const subroutine = 'sub: astore_1 | ret 1'
    const code = (rest: string) =>
      `from: ${CALL} | to: return | catch: pop | jsr sub | ${rest} | return | ${subroutine}`
    const old = { major: 48, maxLocals: 2 }
    assert.equal(resumes(code(CALL), 'from..to -> catch', old).length, 1)
    assert.equal(resumes(code('nop'), 'from..to -> catch', old).length, 0)
  })

  it('if a handler begins with a new instruction, type annotations still refer to that instruction', () => {
    const classFile = instrumented(
      assemble({
        method: 'run(I)V',
        code: `from: ${CALL} | to: return | catch: new T | swap | pop | pop | ${CALL} | return`,
        handlers: 'from..to -> catch',
        // a type annotation for the `new` at bci 4
        attributes: { RuntimeVisibleTypeAnnotations: [0, 1, 0x44, 'catch', 0, 0, 1, 0, 0] },
      }),
    )
    const { attributes } = parseCode(classFile, classFile.methods[0])
    const at = attributes[0].offset + 3
    assert.equal((classFile.bytes[at] << 8) | classFile.bytes[at + 1], 19)
  })
})

describe('the method id that a probe passes', () => {
  const MAX = (1 << 22) - 1

  it('a method id up to 22 bits is pushed by instructions with immediate operands, without a constant', () => {
    const sizes = new Set<number>()
    for (const id of [0, 5, 6, 127, 128, 32767, 32768, 65535, 65536, 98303, (1 << 20) - 1, 1 << 20, MAX]) {
      const classFile = instrumented(assemble({ method: 'run()V', code: 'return', maxStack: 0 }), id)
      const lines = listing(classFile)
      assert.equal(lines[0], `0 enter ${id}`)
      assert.match(lines[1], new RegExp(` exit ${id}$`))
      assert.equal(parseCode(classFile, classFile.methods[0]).maxStack, id < 65536 ? 1 : 2)
      sizes.add(classFile.pool.count)
    }
    assert.equal(sizes.size, 1, 'the pool is the same for every id')
  })

  it('a method id beyond 22 bits is refused', () => {
    assert.equal(skipped({ method: 'run()V', code: 'return' }, 1 << 22), 'id 4194304 is out of range')
  })
})

describe('the stack of a method', () => {
  const maxStack = (code: string, before: number, { id = 7, major = 61 } = {}) => {
    const classFile = instrumented(assemble({ method: 'run(IIII)I', code, maxStack: before, major }), id)
    return parseCode(classFile, classFile.methods[0]).maxStack
  }
  const SUM = 'iload_0 | iload_1 | iload_2 | iload_3 | iadd | iadd | iadd | ireturn'

  it('max_stack is no larger than needed, since C1 reserves a word per slot in every frame', () => {
    assert.equal(maxStack(SUM, 4), 4)
    assert.equal(maxStack('iload_0 | ireturn', 1), 2)
    assert.equal(maxStack('iload_0 | ireturn', 1, { id: 65536 }), 3)
    assert.equal(
      maxStack('iload_0 | iload_1 | ireturn', 2),
      3,
      'what lies below a returned value stays there',
    )
  })

  it('max_stack has space for all probes if the stack depth is unknown', () => {
    assert.equal(maxStack(SUM, 4, { major: 49 }), 5)
  })
})

describe('the return value of a method with probes', () => {
  const exitOf = (descriptor: string, code: string) => {
    const classFile = instrumented(assemble({ method: `run${descriptor}`, code, major: 61 }))
    const { bytecode } = parseCode(classFile, classFile.methods[0])
    // The exit probe is followed by the return and, if the code can throw, by the exception handler of 6 bytes.
    const handler = classFile.methods[0].descriptor.endsWith('V') ? 0 : 6
    const at = bytecode.length - handler - 1 - 3
    const { name, descriptor: exit } = classFile.pool.memberRef((bytecode[at + 1] << 8) | bytecode[at + 2])
    return name + exit
  }

  it.each([
    ['()I', 'iconst_0 | ireturn', 'methodExit(II)I'],
    ['()Z', 'iconst_0 | ireturn', 'methodExit(II)I'],
    ['()J', 'lconst_0 | lreturn', 'methodExit(JI)J'],
    ['()Ljava/lang/Object;', 'aconst_null | areturn', 'methodExit(Ljava/lang/Object;I)Ljava/lang/Object;'],
    ['()F', 'fconst_0 | freturn', 'methodExit(FI)F'],
    ['()D', 'dconst_0 | dreturn', 'methodExit(DI)D'],
    // A probe cannot return an object of another class without resolving that class by the class's loader.
    ['()Ljava/lang/String;', 'aconst_null | areturn', 'methodExit(I)V'],
    ['()V', 'return', 'methodExit(I)V'],
  ])(
    'the return value of a method %s passes through the exit probe if the probe can return that type',
    (descriptor, code, exit) => {
      assert.equal(exitOf(descriptor, code), exit)
    },
  )
})

describe('a constructor with probes', () => {
  const OBJECT_INIT = 'invokespecial java/lang/Object.<init>()V'
  const rows = (code: string, more: Partial<Assembly> = {}) =>
    shape({ method: '<init>(Z)V', this: true, code, ...more }).filter((line) => line.startsWith('['))

  it('the entry probe is the first code of a constructor, and neither of the two exception handlers covers the super call', () => {
    assert.deepEqual(
      shape({ method: '<init>(Z)V', this: true, code: `aload_0 | ${OBJECT_INIT} | nop | return` }),
      [
        '0 enter 7',
        '5 aload_0',
        '6 invokespecial java/lang/Object.<init>',
        '9 nop',
        '10 exit 7',
        '15 return',
        '16 thrown 7',
        '21 athrow',
        '22 thrown 7',
        '27 athrow',
        '[5, 6) -> 16', // "this" is uninitialized
        '[9, 10) -> 22', // "this" is initialized
      ],
    )
  })

  it('the construction of an argument is not mistaken for the super call', () => {
    const argument = `new T | dup | iconst_0 | invokespecial T.<init>(Z)V | pop`
    assert.deepEqual(rows(`aload_0 | ${argument} | ${OBJECT_INIT} | return`), ['[5, 15) -> 24'])
    //  5 aload_0, 6 new, 9 dup, 10 iconst_0, 11 invokespecial, 14 pop, 15 super, 18 exit, 23 return
  })

  it('a constructor with probes may branch before the super call', () => {
    const code = `aload_0 | iload_1 | ifeq no | iconst_1 | goto go | no: iconst_0 | go: invokespecial T.<init>(Z)V | return`
    assert.deepEqual(rows(code), ['[5, 15) -> 24'])
  })

  it('a constructor with probes may have a super call in each branch', () => {
    const code = `iload_1 | ifeq no | aload_0 | ${OBJECT_INIT} | return | no: aload_0 | ${OBJECT_INIT} | nop | return`
    // 5 iload 6 ifeq 9 aload 10 super 13 exit 18 return 19 aload 20 super 23 nop 24 exit 29 return
    assert.deepEqual(rows(code), ['[5, 10) -> 30', '[19, 20) -> 30', '[23, 24) -> 36'])
  })

  it('a constructor with probes may keep "this" in another local, or on the stack in any order', () => {
    assert.deepEqual(rows(`aload_0 | astore_2 | aload_2 | ${OBJECT_INIT} | return`), ['[5, 8) -> 17'])
    assert.deepEqual(
      rows(`iconst_0 | aload_0 | dup_x1 | pop | swap | pop | aload_0 | swap | pop | ${OBJECT_INIT} | return`),
      ['[5, 14) -> 23'],
    )
  })

  it('the handlers of a constructor exclude code where local 0 has another value than "this"', () => {
    const code = `aload_0 | aconst_null | astore_0 | nop | ${OBJECT_INIT} | nop | return`
    // 5 aload, 6 aconst, 7 astore_0, 8 nop, 9 super, 12 nop, 13 exit
    assert.deepEqual(rows(code), ['[5, 7) -> 19', '[12, 13) -> 25'])
  })

  it('a constructor without a super call still has a handler', () => {
    assert.deepEqual(rows('aconst_null | athrow'), ['[5, 7) -> 7'])
  })

  it('both handlers of a constructor exclude unreachable code', () => {
    assert.deepEqual(rows(`aload_0 | ${OBJECT_INIT} | return | nop | athrow`), ['[5, 6) -> 17'])
  })

  it('a constructor gets no probes if code before and after the super call is shared', () => {
    const code = `iload_1 | ifeq both | aload_0 | ${OBJECT_INIT} | both: return`
    assert.equal(
      skipped({ method: '<init>(Z)V', this: true, code }),
      'code shared by both sides of the super call',
    )
  })

  it("the stack map frame of a constructor's first handler has an uninitialised this, and the frame of the second handler has no this", () => {
    const classFile = instrumented(
      assemble({
        method: '<init>(Z)V',
        this: true,
        major: 61,
        code: `aload_0 | ${OBJECT_INIT} | nop | return`,
      }),
    )
    const method = classFile.methods[0]
    const throwable = 7 // Object
    assert.deepEqual(
      decodeStackMap(classFile, method, parseCode(classFile, method)).map(({ bci, locals, stack }) => ({
        bci,
        locals,
        stack: stack.map((type) => type & 15),
      })),
      [
        { bci: 16, locals: [6], stack: [throwable] },
        { bci: 22, locals: [], stack: [throwable] },
      ],
    )
  })
})

describe('the probe for reflection', () => {
  it("the reflection probe passes the receiver at the method's entry and does nothing else", () => {
    const classFile = assemble({ method: 'invoke(I)I', this: true, code: 'iload_1 | ireturn', maxStack: 1 })
    assert.deepEqual(listing(instrumented(classFile, 0, 'reflection')), [
      '0 aload_0',
      '1 invokestatic java/lang/JFluid1.reflectiveCall',
      '4 iload_1',
      '5 ireturn',
    ])
  })

  it('the reflection probe follows the entry probe', () => {
    const classFile = assemble({ method: 'invoke(I)I', this: true, code: 'iload_1 | ireturn' })
    const { bodies, poolBytes, poolEntries } = instrumentClass(classFile, [
      { methodIndex: 0, id: 0, probe: 'reflection' },
      { methodIndex: 0, id: 9, probe: 'root' },
    ])
    assert.deepEqual(
      bodies.map(({ id }) => id),
      [9],
    )
    const both = parseClassFile(spliceClass(classFile, poolEntries, poolBytes, bodies))
    assert.deepEqual(listing(both).slice(0, 3), [
      '0 enter 9',
      '5 aload_0',
      '6 invokestatic java/lang/JFluid1.reflectiveCall',
    ])
  })

  it('the reflection probe passes the first argument of a static method', () => {
    const classFile = assemble({ method: 'get(Ljava/lang/Object;)V', code: 'return', maxStack: 0 })
    assert.deepEqual(listing(instrumented(classFile, 0, 'reflection')), [
      '0 aload_0',
      '1 invokestatic java/lang/JFluid1.reflectiveCall',
      '4 return',
    ])
  })

  it.each(['run()V', 'run(I)V'])(
    'the reflection probe is refused in a method without an object to pass: %s',
    (method) => {
      const result = instrumentClass(assemble({ method, code: 'return' }), [
        { methodIndex: 0, id: 0, probe: 'reflection' },
      ])
      assert.equal(result.skipped[0].reason, 'has no object to report to the runtime')
    },
  )
})

describe('the probe for callees of method handles', () => {
  const CLASS = 'java/lang/invoke/DirectMethodHandle'
  const GIVES = '(Ljava/lang/Object;)Ljava/lang/Object;'
  const gives = (assembly: Partial<Assembly> = {}) =>
    assemble({ className: CLASS, method: `member${GIVES}`, code: 'aload_0 | areturn', ...assembly })

  it('the handle probe passes the return value through the runtime', () => {
    assert.deepEqual(listing(instrumented(gives(), 0, 'handle-member')), [
      '0 aload_0',
      '1 invokestatic java/lang/JFluid1.handleMember',
      '4 areturn',
    ])
  })

  it('the handle probe does not affect exceptions', () => {
    const thrown = instrumented(gives({ code: 'aconst_null | athrow' }), 0, 'handle-member')
    assert.deepEqual(listing(thrown), ['0 aconst_null', '1 athrow'])
    assert.deepEqual(parseCode(thrown, thrown.methods[0]).handlers, [])
  })

  it('the handle probe can be combined with the reflection probe', () => {
    const classFile = gives()
    const { bodies, poolBytes, poolEntries } = instrumentClass(classFile, [
      { methodIndex: 0, id: 0, probe: 'handle-member' },
      { methodIndex: 0, id: 0, probe: 'reflection' },
    ])
    assert.deepEqual(listing(parseClassFile(spliceClass(classFile, poolEntries, poolBytes, bodies))), [
      '0 aload_0',
      '1 invokestatic java/lang/JFluid1.reflectiveCall',
      '4 aload_0',
      '5 invokestatic java/lang/JFluid1.handleMember',
      '8 areturn',
    ])
  })

  it('only a class that has the handle probe gets constant pool entries for the probe, in each kind of session', () => {
    const entries = (className: string, recipe?: Recipe) =>
      instrumentClass(gives({ className }), [{ methodIndex: 0, id: 1, probe: 'method' }], recipe).poolEntries
    const regions: Recipe = { tells: 'regions', session: 1, regionsOf: () => [] }
    for (const recipe of [EXACT_TIME, { tells: 'calls', jdk: false } as const, regions])
      assert.equal(entries(CLASS, recipe) - entries('T', recipe), 3) // name and type, their combination, and the method
  })

  it.each([
    ['in another class', { className: 'T' }, 'its class returns no target of a method handle'],
    [
      'in a method with another return type',
      { method: 'member(Ljava/lang/Object;)I' },
      'does not return the target of a method handle',
    ],
  ])('the handle probe is refused %s', (_, assembly, reason) => {
    const result = instrumentClass(gives(assembly), [{ methodIndex: 0, id: 0, probe: 'handle-member' }])
    assert.deepEqual([result.bodies, result.skipped[0]?.reason], [[], reason])
  })
})

describe('tables that refer to bytecode indexes', () => {
  const table = (classFile: ClassFile, name: string): number[] => {
    const code = parseCode(classFile, classFile.methods[0])
    const found = code.attributes.find((attribute) => attribute.name === name)
    assert.ok(found, name)
    const words: number[] = []
    for (let at = 0; at + 1 < found.length; at += 2) {
      words.push((classFile.bytes[found.offset + at] << 8) | classFile.bytes[found.offset + at + 1])
    }
    return words
  }
  const code = 'nop | store: istore_0 | out: return'

  it('table rows that begin at bytecode index 0 still begin at 0, so that the entry probe has a line and parameters have names', () => {
    const classFile = instrumented(
      assemble({
        method: 'run(I)V',
        code: `iload_0 | ${code}`,
        attributes: {
          // two rows: bci 0 is line 10, the return is line 11
          LineNumberTable: [0, 2, 0, 0, 0, 10, 'out', 0, 11],
          // one row: [0, end), name 1, descriptor 2, local 0
          LocalVariableTable: [0, 1, 0, 0, 'end', 0, 1, 0, 2, 0, 0],
        },
      }),
    )
    // 0 enter, 5 iload_0, 6 nop, 7 istore_0, 8 exit, 13 return, 14 handler
    assert.deepEqual(table(classFile, 'LineNumberTable'), [2, 0, 10, 8, 11])
    assert.deepEqual(table(classFile, 'LocalVariableTable'), [1, 0, 14, 1, 2, 0])
  })

  it('rows of variables that are equal after the relocation become one row, since the JVM refuses equal rows', () => {
    const classFile = instrumented(
      assemble({
        method: 'run(I)V',
        code: `sipush 300 | pop | ${code}`,
        // Three rows with different lengths: two begin inside sipush, which ends at bci 3, and one begins after it. Names are 1, 1, 1, 2.
        attributes: {
          LocalVariableTable: [
            ...[0, 4, 0, 1, 0, 5, 0, 1, 0, 2, 0, 0, 0, 2, 0, 4, 0, 1, 0, 2, 0, 0],
            ...[0, 3, 0, 3, 0, 1, 0, 2, 0, 0, 0, 3, 0, 3, 0, 2, 0, 2, 0, 0],
          ],
        },
      }),
    )
    // 0 enter, 5 sipush, 8 pop, 9 nop, 10 istore_0, 11 exit
    assert.deepEqual(table(classFile, 'LocalVariableTable'), [2, 8, 3, 1, 2, 0, 8, 3, 2, 2, 0])
  })

  it('type annotations refer to the moved instructions', () => {
    const classFile = instrumented(
      assemble({
        method: 'run(I)V',
        code: 'new T | pop | return',
        // one annotation: `new` at bci 0, no path, type 1, no elements; the path length is one byte, so the table is a list of words
        attributes: { RuntimeVisibleTypeAnnotations: [0, 1, 0x44, 0, 0, 0, 0, 1, 0, 0] },
      }),
    )
    assert.deepEqual(table(classFile, 'RuntimeVisibleTypeAnnotations'), [1, 0x4400, 5 << 8, 1, 0])
  })

  it('tables of an unknown kind are removed', () => {
    const classFile = instrumented(
      assemble({ method: 'run()V', code: 'return', attributes: { Secret: [1, 2, 3] } }),
    )
    assert.deepEqual(parseCode(classFile, classFile.methods[0]).attributes, [])
  })
})

describe('a method that would exceed a limit with a probe before each return', () => {
  // 14 bytes with three returns, nops, and a loop of 3 bytes
  const three = (nops: number, value = 'iconst_0', xreturn = 'ireturn') =>
    `iload_0 | ifeq a | iload_0 | ifgt b | ${value} | ${xreturn} | a: ${value} | ${xreturn} | b: ${value} | ${xreturn} | nop*${nops} | x: goto x`
  const code = three(7975 - 17)

  it('return instructions of the same type share one exit', () => {
    // 7,975 bytes with three returns: 5 + 3 * 5 + 6 = 26 further bytes are too many; 5 + 3 * 2 + 6 + 6 = 23 bytes are not
    const lines = shape({ method: 'run(I)I', code })
    assert.deepEqual(lines.slice(0, 12), [
      '0 enter 7',
      '5 iload_0',
      '6 ifeq 17',
      '9 iload_0',
      '10 ifgt 21',
      '13 iconst_0',
      '14 goto 7986',
      '17 iconst_0',
      '18 goto 7986',
      '21 iconst_0',
      '22 goto 7986',
      '25 nop',
    ])
    assert.deepEqual(lines.slice(-6), [
      '7983 goto 7983',
      '7986 exit 7',
      '7991 ireturn',
      '7992 thrown 7',
      '7997 athrow',
      '[5, 7986) -> 7992', // the jump to the shared exit is covered by the handler
    ])
  })

  it('a method one byte below the limit keeps a separate exit for each return instruction', () => {
    assert.ok(!shape({ method: 'run(I)I', code: three(7974 - 17) }).includes('14 goto 7985'))
    assert.match(skipped({ method: 'run(I)I', code: three(7978 - 17) }), /^would exceed 8000 bytes/)
  })

  it('a return instruction keeps its own exit if the stack holds more than the returned value, or if the instruction is unreachable', () => {
    const deep = code.replace('b: iconst_0 |', 'b: iconst_0 | iconst_0 |')
    assert.match(skipped({ method: 'run(I)I', code: deep }), /^would exceed 8000 bytes/)
    const dead = code.replace('b: iconst_0 |', 'b: goto x | iconst_0 |')
    assert.match(skipped({ method: 'run(I)I', code: dead }), /^would exceed 8000 bytes/)
  })

  it('a method in which the stack is inconsistent is refused', () => {
    const twice = code.replace('a: iconst_0 |', 'a: iconst_0 | goto c | iconst_0 |').replace('b:', 'c: b:')
    assert.equal(
      skipped({ method: 'run(I)I', code: twice }),
      'malformed: two stack depths at one instruction',
    )
    const empty = code.replace('a: iconst_0', 'a: pop')
    assert.equal(skipped({ method: 'run(I)I', code: empty }), 'malformed: the stack underflows or overflows')
  })

  it('jumps to a shared exit are wide in code beyond 32 KiB', () => {
    // 65,410 bytes with 20 returns: 5 + 20 * 5 + 6 further bytes still fit, but not if the id needs 9 bytes
    const cases = Array.from({ length: 20 }, (_, n) => `c${n}: iconst_0 | ireturn | `)
    const labels = cases.map((_, n) => `c${n}`).join(' ')
    const many = `iload_0 | tableswitch 0 ${labels} default c0 | ${cases.join('')} nop*65270 | x: goto x`
    const id = (1 << 22) - 1
    const lines = listing(instrumented(assemble({ method: 'run(I)I', code: many }), id))
    const exit = lines.findLast((line) => line.endsWith('ireturn') && !line.startsWith('1'))!
    assert.equal(
      lines.filter((line) => line.endsWith(` goto_w ${Number.parseInt(exit, 10) - 12}`)).length,
      20,
    )
    assert.ok(!shape({ method: 'run(I)I', code: many }).some((line) => line.includes('goto_w')))
  })
})

describe('a method that gets no probes', () => {
  it("a method that would exceed HotSpot's compile limit gets no probes", () => {
    // enter 5, exit 5, handler 6: 16 further bytes, and a single return cannot share an exit
    assert.equal(
      skipped({ method: 'run()V', code: 'nop*7984 | return' }),
      'would exceed 8000 bytes: HotSpot never compiles larger methods',
    )
    assert.equal(shape({ method: 'run()V', code: 'nop*7983 | return' })[0], '0 enter 7')
    assert.equal(shape({ method: 'run()V', code: 'nop*8000 | return' })[0], '0 enter 7', 'it is huge already')
  })

  it('a method that would exceed the class file limit gets no probes', () => {
    assert.equal(skipped({ method: 'run()V', code: 'nop*65530 | return' }), 'would exceed 65535 bytes')
    assert.equal(
      skipped({ method: 'run()V', code: 'nop | return', maxStack: 65535 }),
      'max_stack would exceed 65535',
    )
  })

  it('an empty finalize() gets no probes', () => {
    assert.match(skipped({ method: 'finalize()V', this: true, code: 'return' }), /empty finalize/)
  })

  it('a method with a jump into the middle of an instruction gets no probes', () => {
    assert.equal(
      skipped({ method: 'run()V', code: 'goto_w end' }),
      'malformed: the branch at bci 0 leaves the code',
    )
    assert.equal(
      skipped({ method: 'run()V', code: 'sipush 1 | goto @1' }),
      'malformed: no instruction at bci 1',
    )
  })

  it('a method that does not exist, or exists twice, gets no probes', () => {
    const classFile = assemble({ method: 'run()V', code: 'return' })
    const tasks = [0, 0, 5].map((methodIndex, i) => ({ methodIndex, id: i + 1, probe: 'method' as const }))
    const result = instrumentClass(classFile, tasks)
    assert.deepEqual(
      result.bodies.map(({ id }) => id),
      [1],
    )
    assert.deepEqual(result.skipped, [
      { methodIndex: 0, id: 2, reason: 'has probes already, as method 1' },
      { methodIndex: 5, id: 3, reason: 'no such method' },
    ])
  })
})

describe('a branch whose offset exceeds 16 bits', () => {
  // 32,740 bytes, and 100 further bytes for the probes of twenty returns: 32720 + 20 * (5 + 1)
  const FAR = 'nop*32720 | return*20'

  it('an unconditional branch whose offset exceeds 16 bits becomes a wide branch', () => {
    const lines = shape({ method: 'run()V', code: `goto far | a: ${FAR} | far: nop | goto a` })
    assert.deepEqual(lines.slice(0, 3), ['0 enter 7', `5 goto_w ${10 + 32840}`, '10 nop'])
    assert.ok(lines.includes(`${10 + 32841} goto_w 10`))
  })

  it('a conditional branch whose offset exceeds 16 bits is inverted, and skips a wide branch', () => {
    const lines = shape({ method: 'run(I)V', code: `iload_0 | ifle far | ${FAR} | far: return` })
    assert.deepEqual(lines.slice(0, 5), [
      '0 enter 7',
      '5 iload_0',
      '6 ifgt 14',
      `9 goto_w ${14 + 32840}`,
      '14 nop',
    ])
  })

  it('a conditional branch whose offset exceeds 16 bits is refused if the next instruction would need an unknown frame', () => {
    const code = `iload_0 | ifle far | ${FAR} | far: return`
    assert.equal(skipped({ method: 'run(I)V', major: 61, code }), 'branch too far')
  })
})

describe('the constants that probes add to a class', () => {
  it('the same constants are added for any methods, and no constants are added if they already exist', () => {
    const classFile = assemble({ method: 'run()V', code: 'return' })
    const none = instrumentClass(classFile, [])
    const root = instrumentClass(classFile, [{ methodIndex: 0, id: 1, probe: 'root' }])
    assert.deepEqual(none.poolBytes, root.poolBytes)
    // 14 strings, 2 classes, 8 names with types, 8 methods
    assert.equal(none.poolEntries, 32)
    const extended = parseClassFile(spliceClass(classFile, none.poolEntries, none.poolBytes, []))
    assert.equal(instrumentClass(extended, []).poolEntries, 0)
  })

  it('the added constants include the return type of a method with many instructions, since the stack map frame of its shared exit names that type', () => {
    const returns = 'aconst_null | areturn | '.repeat(300)
    const long = (nops: number) =>
      assemble({
        method: 'run()Ljava/util/List;',
        major: 61,
        maxStack: 1,
        code: `${returns}${nops === 0 ? '' : `nop*${nops} | `}aconst_null | areturn`,
      })
    const near = long(4000)
    const [small, large] = [7, (1 << 22) - 1].map(
      (id) => instrumentClass(near, [{ methodIndex: 0, id, probe: 'method' }]).poolBytes,
    )
    assert.deepEqual(small, large)
    assert.equal(instrumentClass(near, []).poolEntries, 32 + 2) // a string and a class
    assert.equal(instrumentClass(long(0), []).poolEntries, 32, 'not if it stays short')
    const { poolEntries, poolBytes } = instrumentClass(near, [])
    const extended = parseClassFile(spliceClass(near, poolEntries, poolBytes, []))
    assert.equal(instrumentClass(extended, []).poolEntries, 0)
  })

  it('a class is refused if the constants do not fit into its pool', () => {
    const classFile = assemble({ method: 'run()V', code: 'return' })
    const filler = 65535 - 21 - classFile.pool.count
    const entry = Uint8Array.of(3, 0, 0, 0, 0) // an Integer
    const bytes = new Uint8Array(5 * filler)
    for (let i = 0; i < filler; i++) bytes.set(entry, 5 * i)
    const full = parseClassFile(spliceClass(classFile, filler, bytes, []))
    const result = instrumentClass(full, [{ methodIndex: 0, id: 1, probe: 'method' }])
    assert.deepEqual(result.skipped, [{ methodIndex: 0, id: 1, reason: 'no room in the constant pool' }])
  })
})
