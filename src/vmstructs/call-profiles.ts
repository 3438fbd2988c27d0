// What the calls in a JVM's methods have led to, from the profiles that it keeps for its own compilers; nothing is changed
// for that.
//
// HotSpot gives a method that runs often a MethodData: a record for each bytecode of interest, with how often a call was
// made, and for a call that is dispatched the first two classes of its receivers (methodData.hpp). The interpreter and code
// of level 3 write them; once a method is compiled for good they stay as they were, until code that counted on them has
// proved wrong.
//
//   MethodData: ... _data_size | { tag u1, flags u1, bci u2, traps u4, cells 8 bytes each } ...

import type { Memory, Pieces } from './memory.ts'
import type { Structs } from './structs.ts'

/** What a call has led to. */
export interface CallProfile {
  /** Receivers by their class numbers, with how many calls each got. */
  readonly receivers: ReadonlyMap<number, number>
  /** Calls of other receivers, or of any where receivers are not told apart. */
  readonly others: number
}

/** By bytecode index. A call that is not there has no record. */
export type MethodProfile = ReadonlyMap<number, CallProfile>

interface Layout {
  readonly profile: number
  readonly dataSize: number
  readonly data: number
}

/** How records of dispatched calls are laid out: cells before the rows, and rows of two cells. */
interface Shape {
  readonly before: number
  readonly rows: number
}

const HEADER = 8
const CELL = 8
/** DataLayout's tags, of which a method's own records have the first eleven. */
const TAG = {
  bit: 1,
  counter: 2,
  jump: 3,
  receiverType: 4,
  virtualCall: 5,
  ret: 6,
  branch: 7,
  multiBranch: 8,
  callType: 10,
  virtualCallType: 11,
}
/** -XX:BciProfileWidth is 2 in every product. */
const RET_CELLS = 1 + 2 * 3
/** With JVMCI compiled in, JDK 17 has a counter more before the rows. -XX:TypeProfileWidth is 2 unless somebody says otherwise. */
const SHAPES: readonly Shape[] = [2, 0, 1, 3, 4, 5, 6, 7, 8].flatMap((rows) => [
  { before: 1, rows },
  { before: 2, rows },
])
const MOST_BYTES = 1 << 20

export class CallProfiles {
  private constructor(
    private readonly memory: Memory,
    private readonly layout: Layout,
    private readonly shape: Shape,
  ) {}

  /**
   * @param methods  addresses of some, of which a few have a profile if any have
   * @returns null if this JVM keeps no such profiles, or in a way that is not known here
   */
  static async open(
    memory: Memory,
    structs: Structs,
    methods: readonly number[],
  ): Promise<CallProfiles | null> {
    const profile = structs.offset('Method._method_data')
    const dataSize = structs.offset('MethodData._data_size')
    const data = structs.offset('MethodData._data[0]')
    if (profile === undefined || dataSize === undefined || data === undefined) return null
    const layout = { profile, dataSize, data }
    const shape = shapeOf(await recordsOf(memory, layout, methods))
    return shape && new CallProfiles(memory, layout, shape)
  }

  /**
   * @param methods  addresses
   * @param classOf  number of the class at an address; undefined if none is known
   * @returns null for methods without a profile
   */
  async of(
    methods: readonly number[],
    classOf: (klass: number) => number | undefined,
  ): Promise<(MethodProfile | null)[]> {
    const found: (MethodProfile | null)[] = methods.map(() => null)
    for (const it of await recordsOf(this.memory, this.layout, methods))
      found[it.i] = read(it, this.shape, classOf)
    return found
  }
}

/** Records of the `i`-th method asked for: the `k`-th piece of some data. */
interface Records {
  readonly i: number
  readonly data: Pieces
  readonly k: number
  readonly size: number
}

/** Of the methods that have a profile. */
async function recordsOf(memory: Memory, at: Layout, methods: readonly number[]): Promise<Records[]> {
  const pointers = await memory.gather(
    methods.map((it) => it && it + at.profile),
    8,
  )
  const profiles = methods.map((_, i) => pointers.word(i))
  const sizes = await memory.gather(
    profiles.map((it) => it && it + at.dataSize),
    4,
  )
  const bySize = new Map<number, number[]>()
  for (const i of methods.keys()) {
    const size = sizes.i32(i)
    if (profiles[i] === 0 || size <= 0 || size > MOST_BYTES || size % CELL !== 0) continue
    const like = bySize.get(roundUp(size))
    if (like) like.push(i)
    else bySize.set(roundUp(size), [i])
  }
  const records: Records[] = []
  for (const [size, indices] of bySize) {
    const data = await memory.gather(
      indices.map((i) => profiles[i] + at.data),
      size,
    )
    for (const [k, i] of indices.entries()) records.push({ i, data, k, size: sizes.i32(i) })
  }
  return records
}

/** @returns the first shape in which all records end where the data ends; null if there is no data, or no such shape */
function shapeOf(records: readonly Records[]): Shape | null {
  if (records.length === 0) return null
  // One that is being made just now may be anything.
  const enough = 0.99 * records.length
  return (
    SHAPES.find((shape) => records.filter((it) => read(it, shape, NOBODY) !== null).length >= enough) ?? null
  )
}

const NOBODY = () => undefined

/** @returns null if the records do not fill the data */
function read(
  { data, k, size }: Records,
  { before, rows }: Shape,
  classOf: (klass: number) => number | undefined,
): MethodProfile | null {
  const calls = new Map<number, CallProfile>()
  let at = 0
  let last = 0
  while (at < size) {
    const tag = data.u8(k, at)
    const bci = data.u16(k, at + 2)
    if (bci < last) return null
    last = bci
    const cells = at + HEADER
    let count: number
    switch (tag) {
      case TAG.bit:
        count = 0
        break
      case TAG.counter:
        count = 1
        break
      case TAG.jump:
        count = 2
        break
      case TAG.branch:
        count = 3
        break
      case TAG.receiverType:
      case TAG.virtualCall:
        count = before + 2 * rows
        break
      case TAG.ret:
        count = RET_CELLS
        break
      case TAG.multiBranch:
        if (cells + CELL > size) return null
        count = 1 + data.word(k, cells)
        break
      case TAG.callType:
        if (cells + 2 * CELL > size) return null
        count = 2 + data.word(k, cells + CELL)
        break
      case TAG.virtualCallType:
        if (cells + CELL * (before + 2 * rows + 1) > size) return null
        count = before + 2 * rows + 1 + data.word(k, cells + CELL * (before + 2 * rows))
        break
      default:
        return null
    }
    at = cells + CELL * count
    if (at > size) return null
    if (tag === TAG.counter || tag === TAG.callType)
      calls.set(bci, { receivers: new Map(), others: data.word(k, cells) })
    else if (tag === TAG.virtualCall || tag === TAG.virtualCallType) {
      const receivers = new Map<number, number>()
      let others = data.word(k, cells)
      for (let row = 0; row < rows; row++) {
        const klass = data.word(k, cells + CELL * (before + 2 * row))
        const id = klass === 0 ? undefined : classOf(klass)
        const count = klass === 0 ? 0 : data.word(k, cells + CELL * (before + 2 * row + 1))
        if (id !== undefined) receivers.set(id, count)
        else others += count // of a class that is not known yet
      }
      calls.set(bci, { receivers, others })
    }
  }
  return calls
}

function roundUp(size: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(64, size)))
}
