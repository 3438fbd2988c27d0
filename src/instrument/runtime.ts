// The runtime class in the target, the methods of this class that instrumented code calls, and the constant pool
// entries for these methods.
//
// The JVM never removes entries from the pool of a loaded class. So a class always gets the same block of entries, for any
// selected methods and ids. If the pool already has an entry, the first equal entry is reused,
// so the same class bytes always get the same block.

import { addTo } from '../base/arrays.ts'
import {
  CONSTANT_CLASS,
  CONSTANT_METHODREF,
  CONSTANT_NAME_AND_TYPE,
  CONSTANT_UTF8,
  type ConstantPool,
} from '../classfile/constant-pool.ts'
import { u2At } from '../classfile/reader.ts'
import { encodeModifiedUtf8 } from '../classfile/utf8.ts'
import { Writer } from '../classfile/writer.ts'

/** Name of the class with the probes. The boot loader defines it in java.base, so that every class can call it. */
export const RUNTIME_CLASS = 'java/lang/JFluid1'

const ID = '(I)V'
const COUNT_AND_ID = '(II)V'
const COUNT = '(I)I'
const OBJECT = '(Ljava/lang/Object;)V'
const OBJECT_AND_INT = '(Ljava/lang/Object;I)V'
const OBJECTS = '(Ljava/lang/Object;Ljava/lang/Object;)V'
const SAME_OBJECT = '(Ljava/lang/Object;)Ljava/lang/Object;'
const NOTHING = '()V'

/** A method of the runtime: its descriptor, or its name and descriptor if the name differs from the key. */
type Method = string | readonly [name: string, descriptor: string]
type Methods<K extends string> = Readonly<Record<K, Method>>
/** Pool indices of methods, keyed by the probe. */
type Refs<M> = { readonly [method in keyof M]: number }

/**
 * Kinds of events: events with times, or with the number of bytecodes executed since the last event. Each kind has its own methods in the
 * runtime for the same probes.
 */
export type EventClock = keyof typeof EVENTS

/** Returns the probes of one kind of events. @param count  `I` if the events have a count */
function events(names: string, count: '' | 'I') {
  const [entry, exit, thrown, resume, rootEntry, rootExit, rootThrown] = names.split(' ')
  const leaves = `(${count}I)V`
  const throws = `(Ljava/lang/Throwable;${count}I)Ljava/lang/Throwable;`
  return {
    begins: { methodEntry: [entry!, ID], methodExit: [exit!, leaves] },
    /**
     * Returns the exit probe whose parameter and result is the method's result, by the type of the result. A class has pool
     * entries only for types that its methods return.
     */
    valueExit: (type: ValueType): Method => [exit!, `(${type}${count}I)${type}`],
    others: {
      methodThrown: [thrown!, throws],
      methodResume: [resume!, ID],
      rootEntry: [rootEntry!, ID],
      rootExit: [rootExit!, leaves],
      rootThrown: [rootThrown!, throws],
    },
  } as const
}

const COUNTS = 'countEntry countExit countThrown countResume countRootEntry countRootExit countRootThrown'
const EVENTS = {
  time: events('methodEntry methodExit methodThrown methodResume rootEntry rootExit rootThrown', ''),
  /** Like `time`, but methods can be switched on and off. Roots are always on. */
  switched: events(
    'switchedEntry switchedExit switchedThrown switchedResume rootEntry rootExit rootThrown',
    '',
  ),
  executed: events(COUNTS, 'I'),
  allocated: events(COUNTS, 'I'),
} as const

const EXECUTED = { countLoop: COUNT, countCall: COUNT } as const
/** Records a whole call of a method without an exit probe (leaf.ts). */
const LEAF = { countLeaf: COUNT_AND_ID } as const

/** Probes after an allocation (allocations.ts). */
const ALLOCATIONS = {
  allocated: '(Ljava/lang/Class;)V',
  allocatedPrimitives: COUNT_AND_ID,
  allocatedPrimitiveArray: OBJECT,
  constructed: OBJECT,
  allocatedArray: '([Ljava/lang/Object;)V',
  allocatedArrays: OBJECT_AND_INT,
  allocatedArraysOf: OBJECT,
  allocatedObject: OBJECT,
  allocatedBox: OBJECT,
  allocatedString: OBJECT,
  allocatedConcatenation: OBJECT,
  cloning: NOTHING,
  allocatedClone: OBJECT,
} as const
export type AllocationRefs = Refs<typeof ALLOCATIONS>

/** Probes of regions. */
const REGIONS = { regionEnter: '(JI)J', regionLeave: '(JI)J', regionExit: '(JI)V' } as const

export const VALUE_TYPES = ['I', 'J', 'F', 'D', 'Ljava/lang/Object;'] as const
export type ValueType = (typeof VALUE_TYPES)[number]

/**
 * Returns the type in the descriptor of the exit probe for a method; undefined if the exit probe does not get the method's result, since
 * the descriptor would have to name another class.
 */
export function valueType(descriptor: string): ValueType | undefined {
  const type = descriptor.slice(descriptor.lastIndexOf(')') + 1)
  if (/^[ZBCSI]$/.test(type)) return 'I'
  return VALUE_TYPES.find((it) => it === type)
}

/** Probes of call sites, except in mode `sample`. */
const SITES = { callSite: ID, siteEntry: NOTHING } as const

/** Probes of mode `sample`. */
const SAMPLES_CLASS = 'java/lang/JFluid1Samples'
const STACK_CLASS = `${SAMPLES_CLASS}$Stack`
const STACK = `L${STACK_CLASS};`
const SAMPLES = {
  methodEntry: `(I)${STACK}`,
  methodExit: `(${STACK}I)V`,
  methodResume: `(${STACK}I)V`,
  rootEntry: `(I)${STACK}`,
  rootExit: `(${STACK}I)V`,
  count: `(${STACK}I)V`,
  check: `(${STACK}I)V`,
  leafEntry: `(I)${STACK}`,
  leafCheck: `(${STACK}II)V`,
  leaf: '(II)V',
  quietEntry: `()${STACK}`,
  quiet: '(II)V',
} as const
const SAMPLE_SITE = { site: `(${STACK}I)V` } as const

export type SampleRefs = Refs<typeof SAMPLES> & {
  /** Pool index of the class of stacks. `methodEntry` returns the thread's stack, and the method keeps it in a variable. */
  readonly stackClass: number
  /** Probe of a call site; 0 if call sites are not recorded. */
  readonly site: number
}

/** Probes of tasks. */
const HAND_OVERS = {
  submitted: OBJECT,
  submittedTo: OBJECTS,
  delayed: OBJECT,
  withdrawn: OBJECT,
  taskEntry: OBJECT,
  taskExit: NOTHING,
  workerTakes: OBJECT,
  workerStarts: OBJECT,
  workerIsIdle: NOTHING,
  threadStarts: OBJECT,
  threadEnds: NOTHING,
} as const
export type HandOverRefs = Refs<typeof HAND_OVERS>

/** Probes of waits. */
const WAITS = {
  lockWanted: OBJECT,
  lockTaken: NOTHING,
  calling: ID,
  monitorHeld: OBJECT_AND_INT,
  waitBegins: OBJECT_AND_INT,
  waitEnds: NOTHING,
  callWaits: OBJECT_AND_INT,
  callWaited: NOTHING,
} as const
export type WaitRefs = Refs<typeof WAITS> & {
  /** Pool index of the instrumented class itself. */
  readonly own: number
}

/** Probes that store the values of root calls, by the type of the value. */
const ROOT_VALUES = {
  object: ['rootValue', OBJECT_AND_INT],
  long: ['rootValue', '(JI)V'],
  double: ['rootValue', '(DI)V'],
} as const
export type RootValueRefs = Refs<typeof ROOT_VALUES>

const REFLECTION = { reflectiveCall: OBJECT } as const
const HANDLE_MEMBER = { handleMember: SAME_OBJECT } as const

type EventRefs = Refs<(typeof EVENTS)['time']['begins'] & (typeof EVENTS)['time']['others']>
const NO_EVENTS: EventRefs = {
  ...{ methodEntry: 0, methodExit: 0, methodThrown: 0, methodResume: 0 },
  rootEntry: 0,
  rootExit: 0,
  rootThrown: 0,
}

/** Pool indices for the probes. In a class with regions, which has no other probes, the indices of event probes are 0. */
export interface RuntimeBlock extends EventRefs {
  /** Exit probes that get the method's result, keyed by `valueType`. Contains only types that methods of the class return. */
  readonly valueExits: ReadonlyMap<string, number>
  /** Probe that reports the count in a loop; 0 if events have times. */
  readonly countLoop: number
  readonly countCall: number
  /** Probe that records a whole call (leaf.ts); 0 unless calls or bytecodes are counted. */
  readonly countLeaf: number
  readonly reflectiveCall: number
  /** Probe that hides the callee of a method handle from C1; 0 except in HANDLE_MEMBER_CLASS. */
  readonly handleMember: number
  /** Class java/lang/Throwable, for the frames of added handlers. */
  readonly throwable: number
  /** Utf8 entry with the name of the attribute StackMapTable. */
  readonly stackMapTable: number
  /** Class entries for the frames of shared exits, keyed by class name: all classes of `returnedClasses`. */
  readonly returned: ReadonlyMap<string, number>
  /** Probes of regions; null except for a class with regions. */
  readonly region: Refs<typeof REGIONS> | null
  /** Probes of sampling; null except in mode `sample`. */
  readonly samples: SampleRefs | null
  /** Probes of allocations; null if allocations are not recorded. */
  readonly allocations: AllocationRefs | null
  /** Probes of call sites; null unless call sites are recorded in a mode other than `sample`. */
  readonly sites: Refs<typeof SITES> | null
  /** Probes of tasks; null for a class without methods that submit or run tasks. */
  readonly handOver: HandOverRefs | null
  /** Probes of values; null unless the user has named values of root calls. */
  readonly rootValues: RootValueRefs | null
  /** Probes of waits; null unless waits are recorded. */
  readonly waits: WaitRefs | null
  /** Raw entries to append to the pool. */
  readonly poolBytes: Uint8Array
  /** Number of pool slots of these entries. */
  readonly poolEntries: number
}

/** Properties of a class that determine its new pool entries. They depend only on the class file and the recipe. */
export interface Wanted {
  readonly clock: EventClock | 'regions'
  /** Result of `returnedClasses`. */
  readonly returned: readonly string[]
  /** Types of `valueType` that methods of the class return, in order. */
  readonly values?: readonly ValueType[]
  /** Whether the class has methods that submit or run tasks. */
  readonly handsOver?: boolean
  /** Name of the class, if waits are recorded. */
  readonly waitsOf?: string | undefined
  /** Whether values of root calls are stored. */
  readonly rootValues?: boolean
  /** Whether threads sample themselves. */
  readonly samples?: boolean
  /** Whether probes record call sites. */
  readonly sites?: boolean
  /** Whether some methods may have a single probe per call (leaf.ts). */
  readonly leaves?: boolean
  /** Whether the class resolves callees of method handles. */
  readonly handleMembers?: boolean
}

export function runtimeBlock(pool: ConstantPool, wanted: Wanted): RuntimeBlock {
  const { clock, returned, values = [], waitsOf, samples, sites } = wanted
  const block = new Block(pool, waitsOf === undefined ? returned : [waitsOf, ...returned])
  const runtime = block.class(RUNTIME_CLASS)
  const isCounted = clock === 'executed' || clock === 'allocated'
  return {
    ...(clock === 'regions'
      ? { ...NO_EVENTS, valueExits: new Map() }
      : eventRefs(block, runtime, clock, values)),
    region: clock === 'regions' ? block.methods(runtime, REGIONS) : null,
    ...(isCounted ? block.methods(runtime, EXECUTED) : { countLoop: 0, countCall: 0 }),
    ...(isCounted && wanted.leaves ? block.methods(runtime, LEAF) : { countLeaf: 0 }),
    ...block.methods(runtime, REFLECTION),
    ...(wanted.handleMembers ? block.methods(runtime, HANDLE_MEMBER) : { handleMember: 0 }),
    throwable: block.class('java/lang/Throwable'),
    stackMapTable: block.utf8('StackMapTable'),
    returned: new Map(returned.map((name) => [name, block.class(name)])),
    samples: samples ? sampleRefs(block, sites) : null,
    sites: sites && !samples ? block.methods(runtime, SITES) : null,
    handOver: wanted.handsOver ? block.methods(runtime, HAND_OVERS) : null,
    rootValues: wanted.rootValues ? block.methods(runtime, ROOT_VALUES) : null,
    allocations: clock === 'allocated' ? block.methods(runtime, ALLOCATIONS) : null,
    waits: waitsOf === undefined ? null : { ...block.methods(runtime, WAITS), own: block.class(waitsOf) },
    poolBytes: block.writer.finish(),
    poolEntries: block.entries,
  }
}

function eventRefs(block: Block, runtime: number, clock: EventClock, values: readonly ValueType[]) {
  const { begins, valueExit, others } = EVENTS[clock]
  const first = block.methods(runtime, begins)
  const valueExits = new Map(values.map((type) => [type, block.method(runtime, type, valueExit(type))]))
  return { ...first, valueExits, ...block.methods(runtime, others) }
}

function sampleRefs(block: Block, sites = false): SampleRefs {
  const owner = block.class(SAMPLES_CLASS)
  const refs = block.methods(owner, SAMPLES)
  const stackClass = block.class(STACK_CLASS)
  return { ...refs, stackClass, ...(sites ? block.methods(owner, SAMPLE_SITE) : { site: 0 }) }
}

class Block {
  readonly writer = new Writer(320)
  entries = 0
  readonly #texts: Map<string, number>

  /** @param names  names of the classes that this block needs in addition to FIXED_TEXTS */
  constructor(
    private readonly pool: ConstantPool,
    names: readonly string[],
  ) {
    this.#texts = findTexts(pool, FIXED_TEXTS)
    if (names.length === 0) return
    for (const [text, index] of findTexts(pool, byLength(names))) this.#texts.set(text, index)
  }

  utf8(text: string): number {
    let index = this.#texts.get(text)
    if (index === undefined) {
      const bytes = encodeModifiedUtf8(text)
      this.writer.u1(CONSTANT_UTF8)
      this.writer.u2(bytes.length)
      this.writer.copy(bytes)
      index = this.#appended()
      this.#texts.set(text, index)
    }
    return index
  }

  class(name: string): number {
    return this.#entry(CONSTANT_CLASS, this.utf8(name))
  }

  method(owner: number, key: string, method: Method): number {
    const [name, descriptor] = typeof method === 'string' ? [key, method] : method
    return this.#entry(
      CONSTANT_METHODREF,
      owner,
      this.#entry(CONSTANT_NAME_AND_TYPE, this.utf8(name), this.utf8(descriptor)),
    )
  }

  methods<K extends string>(owner: number, methods: Methods<K>): Readonly<Record<K, number>> {
    const refs: Partial<Record<K, number>> = {}
    for (const key in methods) refs[key] = this.method(owner, key, methods[key])
    return refs as Record<K, number>
  }

  #entry(tag: number, first: number, second?: number): number {
    const known = this.#find(tag, first, second)
    if (known !== 0) return known
    this.writer.u1(tag)
    this.writer.u2(first)
    if (second !== undefined) this.writer.u2(second)
    return this.#appended()
  }

  #find(tag: number, first: number, second?: number): number {
    const { bytes, offsets, count } = this.pool
    if (first >= count || (second !== undefined && second >= count)) return 0 // the entry refers to an entry that is not in the pool yet
    for (let index = 1; index < count; index++) {
      const at = offsets[index]
      if (at === 0 || bytes[at] !== tag || u2At(bytes, at + 1) !== first) continue
      if (second === undefined || u2At(bytes, at + 3) === second) return index
    }
    return 0
  }

  #appended(): number {
    return this.pool.count + this.entries++
  }
}

interface Text {
  readonly text: string
  readonly bytes: Uint8Array
}

/**
 * Texts of new entries, keyed by length. The length is compared first: of the thousands of texts in a pool, few have one of these lengths.
 */
type TextsByLength = ReadonlyMap<number, readonly Text[]>

function byLength(texts: Iterable<string>): TextsByLength {
  const found = new Map<number, Text[]>()
  for (const text of texts) {
    const bytes = encodeModifiedUtf8(text)
    addTo(found, bytes.length, { text, bytes })
  }
  return found
}

/** All texts that a block may contain. */
const FIXED_TEXTS = byLength(
  new Set([
    ...[RUNTIME_CLASS, SAMPLES_CLASS, STACK_CLASS, 'java/lang/Throwable', 'StackMapTable'],
    ...Object.values(EVENTS).flatMap(({ begins, others, valueExit }) => [
      ...Object.values({ ...begins, ...others }).flat(),
      ...VALUE_TYPES.flatMap((type) => valueExit(type)),
    ]),
    ...[EXECUTED, LEAF, ALLOCATIONS, REGIONS, SITES, SAMPLES, SAMPLE_SITE].flatMap((it) =>
      Object.entries(it).flat(),
    ),
    ...[HAND_OVERS, WAITS, REFLECTION, HANDLE_MEMBER].flatMap((it) => Object.entries(it).flat()),
    ...Object.values(ROOT_VALUES).flat(),
  ]),
)

/** Returns for each of these texts its first index in the pool. Compares bytes, without decoding. */
function findTexts({ bytes, offsets, count }: ConstantPool, ours: TextsByLength): Map<string, number> {
  const found = new Map<string, number>()
  for (let index = 1; index < count; index++) {
    const at = offsets[index]
    if (at === 0 || bytes[at] !== CONSTANT_UTF8) continue
    const alike = ours.get(u2At(bytes, at + 1))
    if (alike === undefined) continue
    for (const { text, bytes: wanted } of alike)
      if (!found.has(text) && isAt(bytes, at + 3, wanted)) found.set(text, index)
  }
  return found
}

function isAt(bytes: Uint8Array, at: number, ours: Uint8Array): boolean {
  for (let i = 0; i < ours.length; i++) if (bytes[at + i] !== ours[i]) return false
  return true
}
