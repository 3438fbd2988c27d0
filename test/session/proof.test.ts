import { afterEach, describe, expect, it, vi } from 'vitest'
import { keptProbes } from '../../src/profile/detach-facts.ts'
import {
  type CodeAccess,
  compareCode,
  isSameByIndex,
  type OwnMethod,
  seesProbes,
  whileAnswered,
} from '../../src/session/proof.ts'
import { type HeldCode, nameKey } from '../../src/vmstructs/original-code.ts'

// JVMS 6.5
const [ICONST_0, ICONST_1, IRETURN] = [3, 4, 172]

function own(nameIndex: number, ...bytecode: number[]): OwnMethod {
  const method = {
    index: 0,
    access: 0,
    name: `m${nameIndex}`,
    nameIndex,
    descriptor: '()I',
    descriptorIndex: 9,
  }
  const code = {
    maxStack: 1,
    maxLocals: 0,
    bytecode: Uint8Array.from(bytecode),
    handlers: [],
    attributes: [],
  }
  return { method: { ...method, attributes: [], code: undefined }, code }
}

const held = (nameIndex: number, ...bytecode: number[]): HeldCode => ({
  ...{ nameIndex, descriptorIndex: 9, maxStack: 1, maxLocals: 0 },
  bytecode: Uint8Array.from(bytecode),
})

function named(...codes: HeldCode[]): Map<number, HeldCode> {
  return new Map(codes.map((it) => [nameKey(it.nameIndex, it.descriptorIndex), it]))
}

describe('comparison of code by the constant pool index of the method name', () => {
  const methods = [own(5, ICONST_0, IRETURN), own(6, ICONST_1, IRETURN)]

  it('code compares as equal if the methods are in another order', () => {
    expect(isSameByIndex(methods, named(held(6, ICONST_1, IRETURN), held(5, ICONST_0, IRETURN)))).toBe(true)
  })

  it.each([
    ['another method has the code', [held(6, ICONST_0, IRETURN), held(5, ICONST_1, IRETURN)]],
    ['the constant pool index differs', [held(15, ICONST_0, IRETURN), held(16, ICONST_1, IRETURN)]],
    ['the method is missing', [held(5, ICONST_0, IRETURN)]],
    ['the code has changed', [held(5, ICONST_0, IRETURN), held(6, ICONST_0, IRETURN)]],
  ])('code compares as different if %s', (_, inJvm) => {
    expect(isSameByIndex(methods, named(...inJvm))).toBe(false)
  })
})

describe('the time limit of the comparison', () => {
  const never = new Promise<string>(() => {})
  /** Has some more answers at each look. */
  const answering = (looks: number) => {
    let answers = 0
    return {
      looked: () => answers,
      get answers() {
        return Math.min(answers++ >> 1, looks)
      },
    }
  }

  it('the comparison continues while the target answers, and ends when it no longer does', async () => {
    const memory = answering(5)
    expect(await whileAnswered(memory, never, 'late', [1, 60_000])).toBe('late')
    expect(memory.looked()).toBeGreaterThan(10)
  })

  it('the comparison of a target that always answers ends, too', async () => {
    expect(await whileAnswered(answering(Number.POSITIVE_INFINITY), never, 'late', [1, 5])).toBe('late')
  })

  it('the result is returned without a wait', async () => {
    expect(await whileAnswered({ answers: 0 }, Promise.resolve('done'), 'late', [60_000, 60_000])).toBe(
      'done',
    )
  })
})

describe('the second reading of methods that seem to differ', () => {
  const bytes = new Uint8Array(1)
  const classes = Array.from({ length: 21 }, (_, i) => ({
    ...{ id: i + 1, name: `Foo${i + 1}`, bytes, probed: new Set(['m5()I']) },
  }))
  const [foo] = classes as [(typeof classes)[0]]
  const original = own(5, ICONST_0, IRETURN)
  let readAlone = held(5, ICONST_0, IRETURN)

  /** A read of several methods is truncated. @param afterReading  called when the methods have been read together */
  function access(afterReading: () => void): Promise<CodeAccess | null> {
    const methods = {
      places: async (ids: readonly number[]) => ids.map((classId) => ({ classId, methods: [4096] })),
      addresses: async (ids: readonly number[]) =>
        new Map(ids.map((id) => [id, new Map([['m5()I', 4096]])] as const)),
    }
    const codes = {
      named: async (all: readonly unknown[]) => all.map(() => named()),
      of: async (all: readonly unknown[]) => {
        afterReading()
        return all.map(() => null)
      },
      alone: async () => readAlone,
    }
    return Promise.resolve({ methods, codes } as unknown as CodeAccess)
  }

  afterEach(() => {
    vi.restoreAllMocks()
    readAlone = held(5, ICONST_0, IRETURN)
  })

  it('a method that is original in the second reading is original', async () => {
    const facts = await compareCode(
      access(() => {}),
      [foo],
      () => [original],
    )
    expect(facts).toMatchObject({ checkedClasses: 1, originalClasses: 1, different: [], unchecked: '' })
  })

  it('a method that differs in the second reading is reported', async () => {
    readAlone = held(5, ICONST_1, IRETURN)
    const facts = await compareCode(
      access(() => {}),
      [foo],
      () => [original],
    )
    expect(facts).toMatchObject({
      ...{ checkedClasses: 1, originalClasses: 0, different: ['Foo1.m5()I'], unchecked: '' },
    })
    expect(keptProbes({ code: facts, refusedClasses: 0 })).toBe(1)
  })

  /** Lets the time limit of the comparison pass. */
  const late = () => {
    const now = performance.now()
    vi.spyOn(performance, 'now').mockReturnValue(now + 60_000)
  }

  it('after the timeout, 20 methods are read again, and the others are unchecked and not reported as different', async () => {
    const facts = await compareCode(access(late), classes, () => [original])
    expect(facts).toEqual({
      ...{ checkedClasses: 20, checkedMethods: 20, originalClasses: 20, different: [] },
      unchecked: 'the timeout allowed no second reading of some methods',
    })
    expect(keptProbes({ code: facts, refusedClasses: 0 })).toBe(0)
  })

  it('a method that differs is reported after the timeout', async () => {
    readAlone = held(5, ICONST_1, IRETURN)
    const facts = await compareCode(access(late), classes, () => [original])
    expect(facts).toMatchObject({ checkedClasses: 20, originalClasses: 0 })
    expect(facts.different).toHaveLength(20)
    expect(keptProbes({ code: facts, refusedClasses: 0 })).toBe(20)
  })

  /**
   * A JVM in which another agent redefines the class.
   *
   * @param readings  address of the method and its code, for each reading; the last one is repeated
   */
  function redefining(...readings: (readonly [address: number, code: HeldCode | null])[]) {
    let reading = 0
    const now = () => readings[Math.min(reading, readings.length - 1)]!
    const methods = {
      places: async (ids: readonly number[]) => ids.map((classId) => ({ classId, methods: [4096] })),
      addresses: async (ids: readonly number[]) =>
        new Map(ids.map((id) => [id, new Map(now()[0] === 0 ? [] : [['m5()I', now()[0]]])] as const)),
    }
    const codes = {
      named: async (all: readonly unknown[]) => all.map(() => named()),
      of: async (all: readonly unknown[]) => {
        const [, code] = now()
        reading++
        return all.map(() => code)
      },
      alone: async () => now()[1],
    }
    return {
      access: Promise.resolve({ methods, codes } as unknown as CodeAccess),
      readings: () => reading,
    }
  }

  it('a method that moves is read until its code is found', async () => {
    const probed = held(5, ICONST_1, IRETURN)
    const jvm = redefining(
      ...([
        [0, null],
        [4096, probed],
        [8192, null],
        [4096, probed],
        [4096, probed],
      ] as const),
      [8192, held(5, ICONST_0, IRETURN)],
    )
    const facts = await compareCode(jvm.access, [foo], () => [original])
    expect(facts).toMatchObject({ checkedClasses: 1, originalClasses: 1, different: [], unchecked: '' })
    expect(jvm.readings()).toBe(6)
  })

  it('a method that differs in three readings at one address is different', async () => {
    const probed = held(5, ICONST_1, IRETURN)
    const jvm = redefining([8192, probed], [4096, probed])
    const facts = await compareCode(jvm.access, [foo], () => [original])
    expect(facts).toMatchObject({ checkedClasses: 1, originalClasses: 0, different: ['Foo1.m5()I'] })
    expect(jvm.readings()).toBe(4)
  })

  it('a method whose address is not found is unchecked after the timeout, not different', async () => {
    const jvm = redefining([0, null])
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 100))
    const facts = await compareCode(jvm.access, [foo], () => [original])
    expect(facts).toMatchObject({
      ...{ checkedClasses: 0, different: [] },
      unchecked: 'another agent redefined some classes during the check',
    })
    expect(keptProbes({ code: facts, refusedClasses: 0 })).toBe(0)
  })

  it('a rehearsal detects probes, or detects none, or is impossible without time to read all methods again', async () => {
    expect(await seesProbes(access(late), classes, () => [original])).toBe(null)
    vi.restoreAllMocks()
    expect(
      await seesProbes(
        access(() => {}),
        classes,
        () => [original],
      ),
    ).toBe(false)
    readAlone = held(5, ICONST_1, IRETURN)
    expect(await seesProbes(access(late), classes, () => [original])).toBe(true)
  })
})
