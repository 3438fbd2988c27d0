// Rules of the type checker, with one valid and one invalid method each. Code without frames: `inferred.test.ts`.
//
// Class files have version 61 unless stated otherwise. Frames are written as text: `at label: locals / stack`, several
// between `|`; types as int, long, float, double, null, top, uninit, new(label), or a class name.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type Hierarchy, KNOWS_NOTHING, type TypeCheck, TypeChecker } from '../../src/typecheck/check.ts'
import { type Assembly, assemble } from '../instrument/assembler.ts'

/** Dog and Cat are Animals; Tail is an interface. */
const ANIMALS: Hierarchy = {
  isAssignable: (from, to) =>
    to === 'Tail' ? true : ['Dog', 'Cat'].includes(from) ? to === 'Animal' : undefined,
}

function check(assembly: Assembly, hierarchy: Hierarchy = ANIMALS): TypeCheck {
  const classFile = assemble({ major: 61, ...assembly })
  return new TypeChecker(classFile, hierarchy).check(classFile.methods[0])
}

function accepts(assembly: Assembly): void {
  assert.deepEqual(check(assembly), { ok: true, assumptions: new Set() })
}

/** @param reason  text of the refusal, with its bci */
function refuses(assembly: Assembly, bci: number, reason: RegExp): void {
  const result = check(assembly)
  assert.ok(result.ok === false, JSON.stringify(result))
  assert.match(result.reason, reason)
  assert.equal(result.bci, bci)
}

/** Returns frames at the given bcis, in order, with the `same` locals as on entry and an empty stack. */
const same = (...bcis: number[]): Record<string, number[]> => ({
  StackMapTable: [0, bcis.length, ...bcis.map((bci, i) => (i === 0 ? bci : bci - bcis[i - 1] - 1))],
})

describe('rules for the operand stack', () => {
  it('the operand stack must not underflow', () => {
    accepts({ method: 'f()V', code: 'iconst_0 | pop | return' })
    refuses({ method: 'f()V', code: 'pop | return' }, 0, /stack is empty/)
  })

  it('the operand stack must not exceed max_stack', () => {
    accepts({ method: 'f()V', code: 'lconst_0 | pop2 | return', maxStack: 2 })
    refuses({ method: 'f()V', code: 'lconst_0 | pop2 | return', maxStack: 1 }, 0, /stack overflows/)
  })

  it('values on the operand stack must have the types that the instruction requires', () => {
    accepts({ method: 'f(IJ)J', code: 'lload_1 | iload_0 | lshl | lreturn' })
    refuses({ method: 'f(IJ)J', code: 'iload_0 | lload_1 | lshl | lreturn' }, 2, /wanted/)
  })

  it.each([
    ['pop', 'lconst_0 | pop | return', 1],
    ['dup', 'lconst_0 | dup | return', 1],
    ['swap', 'lconst_0 | iconst_0 | swap | return', 2],
    ['dup_x1', 'lconst_0 | iconst_0 | dup_x1 | return', 2],
    ['pop2', 'lconst_0 | iconst_0 | pop2 | return', 2],
    ['dup2', 'lconst_0 | iconst_0 | dup2 | return', 2],
    ['dup2_x1', 'lconst_0 | lconst_1 | dup2_x1 | return', 2],
    ['dup_x2', 'lconst_0 | iconst_0 | iconst_0 | dup_x2 | return', 3],
  ])('the instruction %s must not separate the halves of a long', (_, code, bci) => {
    refuses({ method: 'f()V', code }, bci, /one slot/)
  })

  it.each([
    'lconst_0 | iconst_0 | dup_x2 | pop | pop2 | pop | return',
    'iconst_0 | lconst_0 | dup2_x1 | pop2 | pop | pop2 | return',
    'dconst_0 | lconst_0 | dup2_x2 | lneg | pop2 | dneg | pop2 | lneg | pop2 | return',
    'iconst_0 | fconst_0 | swap | ineg | pop | fneg | pop | return',
  ])('values may be swapped on the stack: %s', (code) => {
    accepts({ method: 'f()V', code })
  })
})

describe('rules for local variables', () => {
  it('a local variable has the type of the stored value', () => {
    accepts({ method: 'f()F', code: 'fconst_0 | fstore_0 | fload_0 | freturn' })
    refuses({ method: 'f()F', code: 'iconst_0 | istore_0 | fload_0 | freturn' }, 2, /local 0 is int/)
  })

  it('both halves of a long local variable must be below max_locals', () => {
    accepts({ method: 'f()V', code: 'lconst_0 | lstore_1 | return', maxLocals: 3 })
    refuses({ method: 'f()V', code: 'lconst_0 | lstore_1 | return', maxLocals: 2 }, 1, /beyond max_locals/)
  })

  it('a long local variable is invalid after one of its halves was overwritten', () => {
    refuses({ method: 'f(J)J', code: 'iconst_0 | istore_1 | lload_0 | lreturn' }, 2, /local 0 is top/)
    refuses({ method: 'f(J)J', code: 'iconst_0 | istore_0 | lload_0 | lreturn' }, 2, /local 0 is int/)
  })

  it('max_locals must hold all arguments', () => {
    refuses({ method: 'f(JI)V', code: 'return', maxLocals: 2 }, 0, /arguments do not fit/)
  })

  it('iinc needs an int local', () => {
    accepts({ method: 'f(I)V', code: 'iinc 0 1 | return' })
    refuses({ method: 'f(F)V', code: 'iinc 0 1 | return' }, 0, /local 0 is float/)
  })

  it('an instruction with the prefix wide can access local variables beyond 255', () => {
    accepts({
      method: 'f(I)V',
      code: 'wide iinc 0 300 | wide iload 0 | wide istore 299 | return',
      maxLocals: 300,
    })
    refuses(
      { method: 'f(I)V', code: 'wide iload 300 | pop | return', maxLocals: 300 },
      0,
      /beyond max_locals/,
    )
    refuses({ method: 'f(I)V', code: 'wide ret 0' }, 0, /ret is not allowed/)
  })
})

describe('rules for control flow', () => {
  it('execution must not continue beyond the last instruction', () => {
    refuses({ method: 'f()V', code: 'nop' }, 0, /falls off the end/)
  })

  it('a branch target needs a frame', () => {
    accepts({ method: 'f(I)V', code: 'iload_0 | ifeq out | nop | out: return', attributes: same(5) })
    refuses(
      { method: 'f(I)V', code: 'iload_0 | ifeq out | nop | out: return' },
      1,
      /no frame at the branch target 5/,
    )
  })

  it('a frame is required after an instruction that never continues at the next instruction', () => {
    refuses({ method: 'f()V', code: 'return | return' }, 1, /no frame after/)
    accepts({ method: 'f()V', code: 'return | return', attributes: same(1) })
  })

  it('each frame must be at the first byte of an instruction', () => {
    refuses(
      { method: 'f()V', code: 'sipush 1 | pop | return', attributes: same(1) },
      1,
      /not at an instruction/,
    )
  })

  it('the types that reach a frame must match the types in the frame', () => {
    const attributes = { StackMapTable: [0, 1, 252, 0, 5, 1] } // one more local, an int
    const method = 'f(I)V'
    accepts({
      method,
      code: 'iconst_0 | istore_1 | iload_0 | ifeq @6 | return',
      attributes: { StackMapTable: [0, 1, 252, 0, 6, 1] },
    })
    refuses(
      { method, code: 'nop | iload_0 | ifeq @5 | nop | return', attributes },
      2,
      /has top where its frame has int/,
    )
    refuses(
      { method, code: 'nop | iload_0 | nop | nop | nop | return', attributes: same(5) },
      5,
      /1 slots on the stack/,
    )
  })

  it('switch keys must be sorted', () => {
    accepts({
      method: 'f(I)V',
      code: 'iload_0 | tableswitch 0 a default a | a: return',
      attributes: same(20),
    })
    accepts({
      method: 'f(I)V',
      code: 'iload_0 | lookupswitch 1 a 2 a default a | a: return',
      attributes: same(28),
    })
    refuses(
      { method: 'f(I)V', code: 'iload_0 | lookupswitch 2 a 1 a default a | a: return', attributes: same(28) },
      1,
      /order/,
    )
    refuses(
      { method: 'f(F)V', code: 'fload_0 | tableswitch 0 a default a | a: return', attributes: same(20) },
      1,
      /int is wanted/,
    )
  })

  it('the instruction jsr is refused', () => {
    refuses({ method: 'f()V', code: 'jsr @3 | return', attributes: same(3) }, 0, /jsr is not allowed/)
  })

  it("a return must match the method's type", () => {
    accepts({ method: 'f()Z', code: 'iconst_0 | ireturn' })
    refuses({ method: 'f()J', code: 'iconst_0 | ireturn' }, 1, /another type/)
    refuses({ method: 'f()V', code: 'iconst_0 | ireturn' }, 1, /another type/)
    refuses({ method: 'f()I', code: 'return' }, 0, /returns nothing/)
    accepts({ method: 'f(LDog;)LAnimal;', code: 'aload_0 | areturn' })
    refuses({ method: 'f(LDog;)LCat;', code: 'aload_0 | areturn' }, 1, /returns a Dog/)
  })
})

describe('types of references', () => {
  it('a reference is assignable to its supertypes; any reference is assignable to an interface, and null to any reference type', () => {
    accepts({ method: 'f(LDog;)V', code: 'aload_0 | invokestatic T.g(LAnimal;)V | return' })
    accepts({ method: 'f(LDog;)V', code: 'aload_0 | invokestatic T.g(LTail;)V | return' })
    accepts({ method: 'f()V', code: 'aconst_null | invokestatic T.g(LCat;)V | return' })
    refuses(
      { method: 'f(LDog;)V', code: 'aload_0 | invokestatic T.g(LCat;)V | return' },
      1,
      /Dog .* Cat is wanted/,
    )
  })

  it("an array type is assignable to another array type if its element type is assignable to the other's element type", () => {
    accepts({ method: 'f([LDog;)V', code: 'aload_0 | invokestatic T.g([LAnimal;)V | return' })
    accepts({ method: 'f([[I)V', code: 'aload_0 | invokestatic T.g([Ljava/lang/Object;)V | return' })
    accepts({ method: 'f([I)V', code: 'aload_0 | invokestatic T.g(Ljava/lang/Cloneable;)V | return' })
    refuses(
      { method: 'f([I)V', code: 'aload_0 | invokestatic T.g([Ljava/lang/Object;)V | return' },
      1,
      /wanted/,
    )
    refuses({ method: 'f([B)V', code: 'aload_0 | invokestatic T.g([Z)V | return' }, 1, /wanted/)
  })

  it.each([
    ['iaload', '[I', 'I', 'ireturn'],
    ['baload', '[B', 'I', 'ireturn'],
    ['baload', '[Z', 'I', 'ireturn'],
    ['daload', '[D', 'D', 'dreturn'],
    ['aaload', '[[J', '[J', 'areturn'],
  ])('the instruction %s accepts an array of type %s', (instruction, array, result, leave) => {
    accepts({ method: `f(${array})${result}`, code: `aload_0 | iconst_0 | ${instruction} | ${leave}` })
  })

  it.each([
    ['iaload', '[J'],
    ['baload', '[C'],
    ['aaload', '[I'],
    ['caload', 'LDog;'],
  ])('the instruction %s refuses an array of type %s', (instruction, array) => {
    const code = `aload_0 | iconst_0 | ${instruction} | pop | return`
    refuses({ method: `f(${array})V`, code }, 2, /is not the array/)
  })

  it('any reference may be stored into an array of references, and the checker counts this as an assumption', () => {
    accepts({ method: 'f([LDog;LCat;)V', code: 'aload_0 | iconst_0 | aload_1 | aastore | return' })
    refuses(
      { method: 'f([LDog;)V', code: 'aload_0 | iconst_0 | iconst_0 | aastore | return' },
      3,
      /int .* wanted/,
    )
    accepts({ method: 'f([D)I', code: 'aload_0 | arraylength | ireturn' })
    refuses({ method: 'f(LDog;)I', code: 'aload_0 | arraylength | ireturn' }, 1, /arraylength of a Dog/)
  })

  it('a new array has the number of dimensions that its instruction specifies', () => {
    accepts({ method: 'f()[I', code: 'iconst_1 | newarray 10 | areturn' })
    refuses({ method: 'f()[I', code: 'iconst_1 | newarray 3 | areturn' }, 1, /newarray/)
    accepts({ method: 'f()[LDog;', code: 'iconst_1 | anewarray Dog | areturn' })
    accepts({ method: 'f()[[LDog;', code: 'iconst_1 | anewarray [LDog; | areturn' })
  })

  it('a thrown reference must be a Throwable', () => {
    refuses({ method: 'f(LDog;)V', code: 'aload_0 | athrow' }, 1, /Throwable is wanted/)
    accepts({ method: 'f(Ljava/lang/Throwable;)V', code: 'aload_0 | athrow' })
  })

  it('only initialised references may be cast', () => {
    accepts({ method: 'f(LDog;)LCat;', code: 'aload_0 | checkcast Cat | areturn' })
    refuses({ method: 'f()V', code: 'new Dog | checkcast Cat | pop | return' }, 3, /uninitialized\(0\)/)
  })
})

describe('objects that are not initialised', () => {
  it('an uninitialised object is initialised by its constructor', () => {
    accepts({ method: 'f()LDog;', code: 'new Dog | dup | invokespecial Dog.<init>()V | areturn' })
    refuses(
      { method: 'f()LDog;', code: 'new Dog | dup | invokespecial Cat.<init>()V | areturn' },
      4,
      /another class/,
    )
    refuses({ method: 'f()LDog;', code: 'new Dog | areturn' }, 3, /returns a uninitialized\(0\)/)
    refuses(
      { method: 'f(LDog;)V', code: 'aload_0 | invokespecial Dog.<init>()V | return' },
      1,
      /initialised object/,
    )
  })

  it('the instruction new must not create an array', () => {
    refuses({ method: 'f()V', code: 'new [LDog; | pop | return' }, 0, /new of an array/)
  })

  it('in a constructor, "this" is uninitialised until another constructor of the class or superclass is called', () => {
    const method = '<init>()V'
    accepts({ method, this: true, code: 'aload_0 | invokespecial java/lang/Object.<init>()V | return' })
    refuses({ method, this: true, code: 'return' }, 0, /before this\(\) or super\(\)/)
    refuses(
      { method, this: true, code: 'aload_0 | invokespecial Dog.<init>()V | return' },
      1,
      /constructor of Dog on this/,
    )
    refuses({ method, this: true, code: 'aload_0 | invokevirtual T.g()V | return' }, 1, /uninitializedThis/)
  })

  it('super() must not be called inside the range of an exception handler', () => {
    const code = 'aload_0 | from: invokespecial java/lang/Object.<init>()V | to: return | out: athrow'
    const handler = [0, 1, 255, 0, 5, 0, 0, 0, 1, 7, 0, 0]
    const assembly: Assembly = { method: '<init>()V', this: true, code, handlers: 'from..to -> out' }
    const classFile = assemble({ ...assembly, major: 61 })
    const object = [...classFile.pool.offsets.keys()].find(
      (index) => classFile.pool.tag(index) === 7 && classFile.pool.className(index) === 'java/lang/Object',
    )!
    handler[11] = object
    refuses(
      { ...assembly, attributes: { StackMapTable: handler } },
      1,
      /inside the range of an exception handler/,
    )
  })

  it('frames name an uninitialised object by the instruction `new` that creates it', () => {
    const frame = (bci: number) => ({ StackMapTable: [0, 1, 64 + 4, 8, 0, bci] })
    const code = 'new Dog | nop | invokespecial Dog.<init>()V | return'
    accepts({ method: 'f()V', code, attributes: frame(0) })
    refuses({ method: 'f()V', code, attributes: frame(3) }, 4, /no new at 3/)
  })
})

describe('exception handlers', () => {
  /** Returns a frame of a handler for all exceptions: no locals, and a Throwable on the stack. */
  const frame = (index: number, bci: number) => ({
    StackMapTable: [0, 1, 255, 0, bci, 0, 0, 0, 1, 7, 0, index],
  })
  const assembly: Assembly = {
    method: 'f()V',
    code: 'from: nop | to: return | out: athrow',
    handlers: 'from..to -> out',
  }
  const throwable = (it: Assembly): number => {
    const { pool } = assemble({ ...it, major: 61 })
    return [...pool.offsets.keys()].find(
      (index) => pool.tag(index) === 7 && pool.className(index) === 'java/lang/Throwable',
    )!
  }

  it('an exception handler needs a frame that accepts the exception', () => {
    const withThrowable = {
      ...assembly,
      code: `${assembly.code} | aconst_null | checkcast java/lang/Throwable | athrow`,
    }
    const index = throwable(withThrowable)
    const table = frame(index, 2).StackMapTable
    table[1] = 2
    accepts({ ...withThrowable, attributes: { StackMapTable: [...table, 0] } })
    refuses(assembly, 2, /handler without a frame/)
    refuses({ ...assembly, attributes: same(2) }, 2, /does not take a java\/lang\/Throwable/)
  })

  it('the range of an exception handler must begin and end at instructions', () => {
    const code = 'from: sipush 1 | pop | return | out: pop | return'
    refuses(
      { method: 'f()V', code, handlers: '@1..end -> out', attributes: same(5) },
      1,
      /inside an instruction/,
    )
  })

  it('local variables in a handler have a type that is valid both before and after a store in its range', () => {
    // The handler requires an int in local 0, which is a float from bci 1 on.
    const code =
      'fconst_0 | fstore_0 | nop | return | aconst_null | checkcast java/lang/Throwable | out: athrow'
    const index = throwable({ method: 'f(I)V', code })
    const handler = [255, 0, 8, 0, 1, 1, 0, 1, 7, 0, index]
    const attributes = { StackMapTable: [0, 2, 4, ...handler.with(2, 3)] }
    const method = 'f(I)V'
    accepts({ method, code, handlers: '@0..@2 -> out', attributes })
    refuses(
      { method, code, handlers: '@0..@3 -> out', attributes },
      2,
      /handler at 8 has float where its frame has int/,
    )
  })
})

describe('use of fields, methods and constants', () => {
  it('an instruction refers to a member by a constant of the right kind', () => {
    refuses({ method: 'f()V', code: 'invokestatic T.x:I | return' }, 0, /is not what this call takes/)
    refuses({ method: 'f()V', code: 'getstatic T.f()V | return' }, 0, /is no Fieldref/)
  })

  it('a use of a member must match the descriptor of the member', () => {
    accepts({ method: 'f(LDog;)J', code: 'aload_0 | getfield Dog.age:J | lreturn' })
    accepts({ method: 'f(LDog;)V', code: 'aload_0 | lconst_0 | putfield Animal.age:J | return' })
    refuses({ method: 'f(LDog;)V', code: 'aload_0 | iconst_0 | putfield Dog.age:J | return' }, 2, /wanted/)
    refuses({ method: 'f(LDog;)V', code: 'aload_0 | getfield Cat.age:J | pop2 | return' }, 1, /Cat is wanted/)
    refuses({ method: 'f()V', code: 'iconst_0 | putstatic T.x:F | return' }, 1, /float is wanted/)
    refuses({ method: 'f()V', code: 'iconst_0 | invokestatic T.g(II)V | return' }, 1, /stack is empty/)
  })

  it('a method with < in its name can be called only if it is a constructor, and only by invokespecial', () => {
    refuses({ method: 'f()V', code: 'invokestatic T.<clinit>()V | return' }, 0, /a call of <clinit>/)
    refuses(
      { method: 'f(LDog;)V', code: 'aload_0 | invokevirtual Dog.<init>()V | return' },
      1,
      /a call of <init>/,
    )
  })

  it('invokespecial needs a method of a superclass', () => {
    accepts({ method: 'f()V', this: true, code: 'aload_0 | invokespecial java/lang/Object.g()V | return' })
    const other = check(
      { method: 'f()V', this: true, code: 'aload_0 | invokespecial Dog.g()V | return' },
      {
        isAssignable: () => false,
      },
    )
    assert.deepEqual(other, {
      ok: false,
      bci: 1,
      reason: 'invokespecial of Dog, which is not above this class',
    })
  })

  it('protected methods of Object may be called only on objects of the class being checked', () => {
    accepts({
      method: 'f(LT;)V',
      className: 'T',
      code: 'aload_0 | invokevirtual java/lang/Object.finalize()V | return',
    })
    accepts({
      method: 'f([I)V',
      code: 'aload_0 | invokevirtual java/lang/Object.clone()Ljava/lang/Object; | pop | return',
    })
    const dog = check(
      { method: 'f(LDog;)V', code: 'aload_0 | invokevirtual java/lang/Object.finalize()V | return' },
      { isAssignable: () => false, isProtected: () => true },
    )
    assert.deepEqual(dog, { ok: false, bci: 1, reason: 'protected java/lang/Object.finalize of a Dog' })
  })
})

describe('unknown types', () => {
  const call: Assembly = {
    method: 'f(LDog;)V',
    code: 'aload_0 | invokestatic T.g(LAnimal;)V | return',
    major: 61,
  }

  it('an unknown relation of two classes is assumed to be valid and is reported', () => {
    const result = check(call, KNOWS_NOTHING)
    assert.deepEqual(result, { ok: true, assumptions: new Set(['Dog assignable to Animal']) })
  })

  it('an assumption is allowed only if the original code needed the same assumption', () => {
    const classFile = assemble(call)
    const checker = new TypeChecker(classFile, KNOWS_NOTHING)
    const [method] = classFile.methods
    assert.equal(checker.check(method, new Set(['Dog assignable to Animal'])).ok, true)
    assert.deepEqual(checker.check(method, new Set()), {
      ok: false,
      bci: 1,
      reason: 'needs Dog assignable to Animal',
    })
  })

  it('code that takes too long to check gets no verdict', () => {
    // 4000 handlers with 4000 different sets of locals each: 12 million frame checks.
    const code = `${'iconst_0 | istore_0 | fconst_0 | fstore_0 | '.repeat(2000)}return | nop | out: pop | return`
    const handlers = Array.from({ length: 4000 }, (_, i) => `@${i}..@8001 -> out`).join(' | ')
    const classFile = assemble({
      method: 'f()V',
      code,
      handlers,
      major: 61,
      attributes: {
        StackMapTable: [0, 2, 251, 8001 >> 8, 8001 & 255, 255, 0, 0, 0, 3, 0, 0, 0, 0, 1, 0],
      },
    })
    const result = new TypeChecker(classFile, { isAssignable: () => true }).check(classFile.methods[0])
    assert.deepEqual(result, { ok: undefined, unchecked: 'it takes too long' })
  })
})
