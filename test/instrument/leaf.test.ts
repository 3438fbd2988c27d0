// Methods that need only one probe per call when calls or bytecodes are counted.

import { describe, expect, it } from 'vitest'
import { defaultBlocks, preciseBlocks } from '../../src/instrument/blocks.ts'
import { leafOf } from '../../src/instrument/leaf.ts'
import { type Assembly, assemble } from './assembler.ts'

const NO_PROBES_IN_JDK = false

/** Returns the bytecodes of a call, and whether one probe is enough if only calls are counted. */
function leaf(code: string, more: Partial<Assembly> = {}, jdk = NO_PROBES_IN_JDK) {
  const file = assemble({ method: 'f(I)I', code, ...more })
  const [method] = file.methods
  return {
    bytecodes: leafOf(file, method!, defaultBlocks, jdk),
    calls: leafOf(file, method!, 'nothing', jdk) !== undefined,
  }
}

const ONE = { bytecodes: undefined, calls: true }
const NONE = { bytecodes: undefined, calls: false }

describe('a method with one probe', () => {
  it.each([
    ['a returned constant', 'iconst_0 | ireturn', 2],
    ['a getter', 'aload_0 | getfield T.x:I | ireturn', 3],
    ['arithmetic that may throw', 'iload_0 | iconst_2 | idiv | ireturn', 4],
    ['an array', 'aload_0 | arraylength | ireturn', 3],
    ['an array element', 'aload_0 | iconst_1 | iaload | ireturn', 4],
    ['wide operands', 'iload_0 | istore 300 | iload 300 | ireturn', 4, 301],
  ] as [string, string, number, number?][])(
    'a method with %s has one probe, which counts all its bytecodes',
    (_, code, bytecodes, maxLocals) => {
      expect(leaf(code, maxLocals === undefined ? {} : { maxLocals })).toEqual({ bytecodes, calls: true })
    },
  )

  it('a method of several blocks has one probe if only calls are counted', () => {
    expect(leaf('iload_0 | ifeq zero | iconst_1 | ireturn | zero: iconst_2 | ireturn')).toEqual(ONE)
    expect(leaf('goto next | next: iconst_1 | ireturn')).toEqual(ONE)
    expect(leaf('iload_0 | tableswitch 1 a default a | a: iconst_1 | ireturn')).toEqual(ONE)
    expect(leaf('top: iinc 0 -1 | iload_0 | ifgt top | iload_0 | ireturn')).toEqual(ONE)
  })

  it('if bytecodes are counted, a method has one probe only if none of its instructions may throw', () => {
    const divides = assemble({ method: 'f(I)I', code: 'iload_0 | iconst_2 | idiv | ireturn' })
    expect(leafOf(divides, divides.methods[0]!, preciseBlocks, false)).toBeUndefined()
    const adds = assemble({ method: 'f(I)I', code: 'iload_0 | iconst_2 | iadd | ireturn' })
    expect(leafOf(adds, adds.methods[0]!, preciseBlocks, false)).toBe(4)
  })

  it("a constructor that calls only Object's constructor has one probe", () => {
    const code = 'aload_0 | invokespecial java/lang/Object.<init>()V | return'
    const init = { method: '<init>()V', this: true }
    expect(leaf(code, init)).toEqual({ bytecodes: 3, calls: true })
    expect(leaf(code, init, true)).toEqual(NONE) // the called constructor may have probes
    expect(leaf('aload_0 | invokespecial T.<init>(I)V | return', init)).toEqual(NONE)
    expect(leaf('aload_0 | invokespecial U.<init>()V | return', init)).toEqual(NONE)
  })
})

describe('methods that need more than one probe, since their instructions may run other code', () => {
  it.each([
    ['an exception', 'aload_0 | athrow'],
    [
      'a class loader, called for an array of arrays',
      'iload_0 | iload_0 | multianewarray [[LU; 2 | pop | iconst_0 | ireturn',
    ],
    ['a call', 'iload_0 | invokestatic T.g(I)I | ireturn'],
    ['a class initialiser, called for a field', 'getstatic U.x:I | ireturn'],
    ['a class loader, called for a field of another class', 'aload_0 | getfield U.x:I | ireturn'],
    ['a class loader, called for a cast', 'aload_0 | checkcast U | pop | iconst_0 | ireturn'],
    ['a class loader, called for an array', 'iload_0 | anewarray U | pop | iconst_0 | ireturn'],
    ['a class initialiser, called for an instance', 'new U | pop | iconst_0 | ireturn'],
    ['code that computes a dynamic constant', 'ldc2_w dynamic.c:J | l2i | ireturn', { bootstrap: 'U.make' }],
    [
      'code that computes a dynamic constant of one slot',
      'ldc dynamic.c:I | ireturn',
      { bootstrap: 'U.make' },
    ],
  ] as [string, string, Partial<Assembly>?][])(
    'a method needs more than one probe because of %s',
    (_, code, more = {}) => {
      expect(leaf(code, { major: 55, ...more })).toEqual(NONE)
    },
  )

  it('a method with a handler needs more than one probe, since callees may have ended without an event', () => {
    const code = 'from: iload_0 | iconst_2 | idiv | to: ireturn | handler: pop | iconst_m1 | ireturn'
    expect(leaf(code, { handlers: 'from..to -> handler' })).toEqual(NONE)
  })

  it('a method that may throw needs more than one probe if the JDK has probes', () => {
    for (const code of [
      'iload_0 | iconst_2 | idiv | ireturn',
      'aload_0 | arraylength | ireturn',
      'aload_0 | getfield T.x:I | ireturn',
      'iload_0 | newarray 10 | pop | iconst_0 | ireturn',
      'aload_0 | iconst_1 | iaload | ireturn',
    ])
      expect(leaf(code, {}, true), code).toEqual(NONE)
    expect(leaf('iload_0 | iconst_2 | iadd | ireturn', {}, true)).toEqual({ bytecodes: 4, calls: true })
  })
})
