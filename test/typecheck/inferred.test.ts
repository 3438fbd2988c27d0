// Code without frames: types are inferred, and merged where control flow joins. One valid and one invalid method
// for each rule. `check.test.ts` tests single instructions.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
import { instrumentClass } from '../../src/instrument/class.ts'
import { type Hierarchy, KNOWS_NOTHING, type TypeCheck, TypeChecker } from '../../src/typecheck/check.ts'
import { refusedBodies } from '../../src/typecheck/rewritten.ts'
import { type Assembly, assemble } from '../instrument/assembler.ts'

/** Dog and Cat are Animals and Pets; Tail is an interface. */
const ANIMALS: Hierarchy = {
  isAssignable: (from, to) =>
    to === 'Tail' || (['Dog', 'Cat'].includes(from) && ['Animal', 'Pet'].includes(to)),
}

function infer(assembly: Assembly, hierarchy: Hierarchy = ANIMALS): TypeCheck {
  const classFile = assemble({ major: 61, ...assembly })
  return new TypeChecker(classFile, hierarchy).infer(classFile.methods[0])
}

function accepts(assembly: Assembly): void {
  assert.deepEqual(infer(assembly), { ok: true, assumptions: new Set() })
}

function refuses(assembly: Assembly, bci: number, reason: RegExp): void {
  const result = infer(assembly)
  assert.ok(result.ok === false, JSON.stringify(result))
  assert.match(result.reason, reason)
  assert.equal(result.bci, bci)
}

/** Pushes a value of one of two kinds, selected by the argument; control flow joins at `out`. */
const either = (one: string, other: string, then: string) =>
  `iload_0 | ifeq else | ${one} | goto out | else: ${other} | out: ${then}`

describe('types of values where two paths of control flow meet', () => {
  it('two classes are merged to a type that is usable as each common supertype', () => {
    const method = 'f(ILDog;LCat;)V'
    const code = (wanted: string) => either('aload_1', 'aload_2', `invokestatic T.g(${wanted})V | return`)
    accepts({ method, code: code('LAnimal;') })
    accepts({ method, code: code('LPet;') })
    accepts({ method, code: code('LTail;') })
    accepts({ method, code: code('Ljava/lang/Object;') })
    refuses({ method, code: code('LDog;') }, 9, /Dog or Cat on the stack where Dog is wanted/)
    refuses({ method, code: code('LCat;') }, 9, /wanted/)
  })

  it('null and a class are merged to that class', () => {
    accepts({
      method: 'f(ILDog;)V',
      code: either('aconst_null', 'aload_1', 'invokestatic T.g(LDog;)V | return'),
    })
  })

  it('two arrays are merged to an array of the merged element types', () => {
    const method = 'f(I[LDog;[LCat;)V'
    const element = (wanted: string) =>
      either('aload_1', 'aload_2', `iconst_0 | aaload | invokestatic T.g(${wanted})V | return`)
    accepts({ method, code: element('LAnimal;') })
    refuses({ method, code: element('LDog;') }, 11, /Dog or Cat/)
    accepts({ method, code: either('aload_1', 'aload_2', 'arraylength | pop | return') })
  })

  it('arrays of different depths merge to arrays of objects', () => {
    const method = 'f(I[LDog;[[LCat;)V'
    accepts({
      method,
      code: either('aload_1', 'aload_2', 'invokestatic T.g([Ljava/lang/Object;)V | return'),
    })
    refuses(
      { method, code: either('aload_1', 'aload_2', 'invokestatic T.g([LDog;)V | return') },
      9,
      /\[Ljava\/lang\/Object; on the stack/,
    )
  })

  it('arrays of different primitives merge to objects', () => {
    const method = 'f(I[I[J)V'
    accepts({ method, code: either('aload_1', 'aload_2', 'invokestatic T.g(Ljava/lang/Object;)V | return') })
    refuses({ method, code: either('aload_1', 'aload_2', 'arraylength | pop | return') }, 9, /arraylength/)
  })

  it('a local variable with different kinds of values on the two paths is unusable', () => {
    const store = (then: string) => either('iconst_0 | istore_1', 'fconst_0 | fstore_1', then)
    accepts({ method: 'f(I)V', code: store('return') })
    refuses({ method: 'f(I)V', code: store('iload_1 | pop | return') }, 11, /local 1 is top/)
    refuses({ method: 'f(I)V', code: store('fload_1 | pop | return') }, 11, /local 1 is top/)
  })

  it('a local variable that is half of a long on one path is unusable', () => {
    const store = (then: string) => either('lconst_0 | lstore_1', 'iconst_0 | istore_2', then)
    refuses({ method: 'f(IJ)V', code: store('lload_1 | pop2 | return') }, 11, /local 1 is top/)
  })

  it('the operand stacks of both paths must have equal depths and equal kinds of values', () => {
    refuses(
      { method: 'f(I)V', code: either('iconst_0', 'fconst_0', 'pop | return') },
      8,
      /float and int come to 9 on the stack/,
    )
    refuses(
      { method: 'f(I)V', code: either('iconst_0', 'iconst_0 | iconst_0', 'pop | return') },
      9,
      /2 slots on the stack come to 10, and 1/,
    )
  })
})

describe('a loop in code without frames', () => {
  it('a loop is analysed until the inferred types no longer change', () => {
    const loop = (then: string) => `top: aload_1 | ${then} | aload_2 | astore_1 | iinc 0 1 | goto top`
    const method = 'f(ILDog;LCat;)V'
    accepts({ method, code: loop('invokestatic T.g(LAnimal;)V') })
    refuses({ method, code: loop('invokestatic T.g(LDog;)V') }, 1, /Dog or Cat/)
  })

  it('the operand stack must not grow with each iteration of a loop', () => {
    refuses({ method: 'f()V', code: 'top: iconst_0 | goto top' }, 1, /1 slots on the stack come to 0, and 0/)
  })

  it('an uninitialised object must not be in use when the instruction that creates it is executed again', () => {
    const turn = (first: string) =>
      `aconst_null | astore_0 | top: ${first} | new Dog | astore_0 | iload_1 | ifne top | return`
    accepts({ method: 'f(II)V', code: turn('nop') })
    refuses({ method: 'f(II)V', code: turn('aload_0 | pop') }, 2, /local 0 is top/)
  })
})

describe('objects that are not initialised, in code without frames', () => {
  it('an uninitialised object is usable after two paths meet if both paths have the same object, otherwise unusable', () => {
    const made = 'new Dog | dup | iload_0 | ifeq @12 | nop | nop | invokespecial Dog.<init>()V | areturn'
    accepts({ method: 'f(I)LDog;', code: made.replace('@12', 'call').replace('invoke', 'call: invoke') })
    const two = either('new Dog', 'new Dog', 'invokespecial Dog.<init>()V | return')
    refuses({ method: 'f(I)V', code: two }, 10, /uninitialized\(10\) and uninitialized\(4\) come to 13/)
  })

  it('uninitialised objects may be compared only with null', () => {
    const locked = (made: string) => `${made} | dup | monitorenter | monitorexit | return`
    accepts({ method: 'f(LDog;)V', code: locked('aload_0') })
    refuses({ method: 'f()V', code: locked('new Dog') }, 4, /not initialised on the stack/)
    const compared = (made: string) => `aload_0 | ${made} | if_acmpeq out | nop | out: return`
    accepts({ method: 'f(LDog;)V', code: compared('aload_0') })
    refuses({ method: 'f(LDog;)V', code: compared('new Dog') }, 4, /not initialised on the stack/)
    accepts({ method: 'f()V', code: 'new Dog | ifnull out | nop | out: return' })
  })

  it('every path out of a constructor must initialise the object', () => {
    const construct = 'aload_0 | invokespecial java/lang/Object.<init>()V'
    const method = '<init>(I)V'
    accepts({
      method,
      this: true,
      code: `iload_1 | ifeq else | ${construct} | return | else: ${construct} | return`,
    })
    refuses(
      { method, this: true, code: `iload_1 | ifeq out | ${construct} | out: return` },
      8,
      /before this\(\) or super\(\)/,
    )
  })
})

describe('an exception handler in code without frames', () => {
  it('local variables in a handler have types that are valid at every instruction in its range', () => {
    const code = (kind: string) =>
      `iconst_0 | istore_1 | from: nop | ${kind}const_0 | ${kind}store_1 | nop | to: return | out: pop | iload_1 | pop | return`
    const assembly = (kind: string) => ({
      method: 'f(I)V',
      code: code(kind),
      handlers: 'from..to -> out',
    })
    accepts(assembly('i'))
    refuses(assembly('f'), 8, /local 1 is top/)
  })

  it('at the start of a handler, the operand stack contains exactly one Throwable', () => {
    const code = (then: string) => `iconst_0 | from: nop | to: pop | return | out: ${then}`
    const assembly = (then: string) => ({ method: 'f()V', code: code(then), handlers: 'from..to -> out' })
    accepts(assembly('athrow'))
    refuses(assembly('pop | pop | return'), 5, /stack is empty/)
    refuses(assembly('invokestatic T.g(LDog;)V | return'), 4, /Throwable assignable|Dog is wanted/)
  })
})

describe('rules for control flow in code without frames', () => {
  it('the target of each branch must be an instruction, even in unreachable code', () => {
    refuses({ method: 'f()V', code: 'goto @4 | sipush 1 | pop | return' }, 0, /branch to 4/)
    refuses({ method: 'f()V', code: 'return | goto @99' }, 1, /branch to 99/)
    refuses({ method: 'f()V', code: 'goto @-3' }, 0, /branch to -3/)
  })

  it('execution must not continue beyond the last instruction of code without frames', () => {
    refuses({ method: 'f(I)V', code: 'iload_0 | ifeq @0' }, 1, /falls off the end/)
  })

  it('a method with unreachable code gets no verdict', () => {
    const unchecked = 'nothing leads to the instruction at 1'
    assert.deepEqual(infer({ method: 'f()V', code: 'return | pop | return' }), { ok: undefined, unchecked })
  })

  it('a method with subroutines gets no verdict', () => {
    const result = infer({ method: 'f()V', code: 'jsr sub | return | sub: astore_0 | ret 0' })
    assert.deepEqual(result, { ok: undefined, unchecked: 'it has subroutines' })
  })
})

describe('versions of class files that have or need frames', () => {
  const branches: Assembly = { method: 'f(I)V', code: 'iload_0 | ifeq out | nop | out: return' }
  const check = (major: number, code = branches.code) => {
    const classFile = assemble({ ...branches, code, major })
    return new TypeChecker(classFile, KNOWS_NOTHING).check(classFile.methods[0])
  }

  it('class files before version 50 have no frames, and class files of version 50 need no frames', () => {
    for (const major of [45, 48, 49, 50]) {
      assert.equal(check(major).ok, true)
      assert.equal(check(major, 'pop | return').ok, false)
    }
    assert.equal(check(51).ok, false)
  })
})

describe('code whose frames were removed', () => {
  const original = assemble({
    method: 'f(ILDog;LCat;)V',
    code: either('aload_1', 'aload_2', 'invokestatic T.g(LAnimal;)V | return'),
    major: 61,
  })
  const probed = (classFile: ClassFile) =>
    instrumentClass(classFile, [{ methodIndex: 0, id: 1, probe: 'method' }])

  it('code without frames passes the checker with probes, and the probes add no requirement on other classes', () => {
    assert.deepEqual(refusedBodies(original, probed(original)), new Map())
    const { poolEntries, poolBytes, bodies } = probed(original)
    const rewritten = parseClassFile(spliceClass(original, poolEntries, poolBytes, bodies))
    const [before, after] = [original, rewritten].map((it) =>
      new TypeChecker(it, KNOWS_NOTHING).infer(it.methods[0]),
    )
    assert.deepEqual(after, before)
    assert.deepEqual(before, {
      ok: true,
      assumptions: new Set(['Dog assignable to Animal', 'Cat assignable to Animal']),
    })
  })

  it('code without frames is refused if a probe was inserted incorrectly', () => {
    const result = probed(original)
    const bodies = result.bodies.map((body) => {
      const code = Uint8Array.from(body.code)
      code[code.indexOf(0x2b)] = 0x2a // aload_1, the Dog, becomes aload_0, which is an int
      return { ...body, code }
    })
    assert.match(refusedBodies(original, { ...result, bodies }).get(0)!, /^the rewritten code does not/)
  })

  it('invalid code without frames is refused', () => {
    const wrong = assemble({
      method: 'f(I)V',
      code: either('iconst_0', 'fconst_0', 'pop | return'),
      major: 61,
    })
    assert.match(refusedBodies(wrong, probed(wrong)).get(0)!, /^the code does not type-check: float and int/)
  })
})

it('code that merges too many classes gets no verdict', () => {
  // 250 classes in 1500 locals. Each iteration of the loop moves them by one local, so that every local
  // may have more and more of the classes.
  const numbers = (count: number) => [...Array(count).keys()]
  const parameters = numbers(250).map((i) => `LC${i};`)
  const fill = numbers(1250).map((i) => `wide aload ${i} | wide astore ${i + 250}`)
  const move = numbers(1499).map((i) => `wide aload ${i + 1} | wide astore ${i}`)
  const code = `${fill.join(' | ')} | top: ${move.join(' | ')} | goto_w top`
  const result = infer({ method: `f(${parameters.join('')})V`, code, maxLocals: 1500 }, KNOWS_NOTHING)
  assert.deepEqual(result, { ok: undefined, unchecked: 'it merges too many classes' })
})
