// What instrumented code calls: the runtime class in the target, its methods, and the constant-pool
// entries that name them.
//
// A live pool only ever grows, so a class is always given the same block of entries, whatever is
// instrumented in it with whatever ids; what the pool has already is used as it is. The first matching entry is taken,
// so the same class bytes always get the same block.

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

/** Lives in java.base, defined by the boot loader, so that every class can call it. */
export const RUNTIME_CLASS = 'java/lang/JFluid1'

const ID = '(I)V'
const COUNT_AND_ID = '(II)V'
const COUNT = '(I)I'
const OBJECT = '(Ljava/lang/Object;)V'
const OBJECTS = '(Ljava/lang/Object;Ljava/lang/Object;)V'
const SAME_OBJECT = '(Ljava/lang/Object;)Ljava/lang/Object;'
const NOTHING = '()V'
const THROWN_AND_ID = '(Ljava/lang/Throwable;I)Ljava/lang/Throwable;'
const THROWN_COUNT_AND_ID = '(Ljava/lang/Throwable;II)Ljava/lang/Throwable;'

/**
 * What events are to tell: when they were, or what was executed since the last. They have probes of their own, of the
 * same meaning.
 */
export type EventClock = 'time' | 'switched' | 'executed' | 'allocated'

const EXECUTED = {
  methodEntry: ['countEntry', ID],
  methodExit: ['countExit', COUNT_AND_ID],
  methodThrown: ['countThrown', THROWN_COUNT_AND_ID],
  methodResume: ['countResume', ID],
  rootEntry: ['countRootEntry', ID],
  rootExit: ['countRootExit', COUNT_AND_ID],
  rootThrown: ['countRootThrown', THROWN_COUNT_AND_ID],
  countLoop: ['countLoop', COUNT],
  countCall: ['countCall', COUNT],
} as const

/** Follow an allocation (allocations.ts). */
const ALLOCATIONS = {
  allocated: ['allocated', '(Ljava/lang/Class;)V'],
  allocatedPrimitives: ['allocatedPrimitives', COUNT_AND_ID],
  allocatedPrimitiveArray: ['allocatedPrimitiveArray', OBJECT],
  constructed: ['constructed', OBJECT],
  allocatedArray: ['allocatedArray', '([Ljava/lang/Object;)V'],
  allocatedArrays: ['allocatedArrays', '(Ljava/lang/Object;I)V'],
  allocatedArraysOf: ['allocatedArraysOf', OBJECT],
  allocatedObject: ['allocatedObject', OBJECT],
  allocatedBox: ['allocatedBox', OBJECT],
  allocatedString: ['allocatedString', OBJECT],
  allocatedConcatenation: ['allocatedConcatenation', OBJECT],
  cloning: ['cloning', NOTHING],
  allocatedClone: ['allocatedClone', OBJECT],
} as const

/** Pool indices that those refer to. */
export type AllocationRefs = { readonly [probe in keyof typeof ALLOCATIONS]: number }

/** Of code that times regions. */
const REGION_PROBES = {
  enter: ['regionEnter', '(JI)J'],
  leave: ['regionLeave', '(JI)J'],
  exit: ['regionExit', '(JI)V'],
} as const

/** Pool indices that the probes of regions refer to. */
export type RegionRefs = { readonly [probe in keyof typeof REGION_PROBES]: number }

/** Records the whole call of a method that needs no probe at its end (leaf.ts). */
const LEAF = ['countLeaf', COUNT_AND_ID] as const

const PROBES = {
  time: {
    methodEntry: ['methodEntry', ID],
    methodExit: ['methodExit', ID],
    methodThrown: ['methodThrown', THROWN_AND_ID],
    methodResume: ['methodResume', ID],
    rootEntry: ['rootEntry', ID],
    rootExit: ['rootExit', ID],
    rootThrown: ['rootThrown', THROWN_AND_ID],
  },
  /** As `time`, where methods are switched on and off while they have these probes. Roots are always on. */
  switched: {
    methodEntry: ['switchedEntry', ID],
    methodExit: ['switchedExit', ID],
    methodThrown: ['switchedThrown', THROWN_AND_ID],
    methodResume: ['switchedResume', ID],
    rootEntry: ['rootEntry', ID],
    rootExit: ['rootExit', ID],
    rootThrown: ['rootThrown', THROWN_AND_ID],
  },
  executed: EXECUTED,
  allocated: { ...EXECUTED, ...ALLOCATIONS },
} as const

/**
 * Exits of methods that return a value, which they hand through, by the type that these have in descriptors. Of a class, only
 * those that its methods need.
 */
const VALUE_EXITS = {
  time: {
    I: ['methodExit', '(II)I'],
    J: ['methodExit', '(JI)J'],
    F: ['methodExit', '(FI)F'],
    D: ['methodExit', '(DI)D'],
    'Ljava/lang/Object;': ['methodExit', '(Ljava/lang/Object;I)Ljava/lang/Object;'],
  },
  switched: {
    I: ['switchedExit', '(II)I'],
    J: ['switchedExit', '(JI)J'],
    F: ['switchedExit', '(FI)F'],
    D: ['switchedExit', '(DI)D'],
    'Ljava/lang/Object;': ['switchedExit', '(Ljava/lang/Object;I)Ljava/lang/Object;'],
  },
  executed: {
    I: ['countExit', '(III)I'],
    J: ['countExit', '(JII)J'],
    F: ['countExit', '(FII)F'],
    D: ['countExit', '(DII)D'],
    'Ljava/lang/Object;': ['countExit', '(Ljava/lang/Object;II)Ljava/lang/Object;'],
  },
} as const

export type ValueType = keyof (typeof VALUE_EXITS)['time']
export const VALUE_TYPES = Object.keys(VALUE_EXITS.time) as readonly ValueType[]

/** Undefined for what no exit hands through: another class would have to be looked up for that. */
export function valueType(descriptor: string): ValueType | undefined {
  const type = descriptor.slice(descriptor.lastIndexOf(')') + 1)
  if (/^[ZBCSI]$/.test(type)) return 'I'
  return VALUE_TYPES.find((it) => it === type)
}

/** The probes of mode `sample`. */
const SAMPLES_CLASS = 'java/lang/JFluid1Samples'
const STACK_CLASS = `${SAMPLES_CLASS}$Stack`
const STACK = `L${STACK_CLASS};`

/** Where call sites are told. */
const SITE_PROBES = { callSite: ID, siteEntry: NOTHING } as const

const SAMPLE_PROBES = {
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

const SAMPLE_SITE = `(${STACK}I)V`

type SampleProbeName = keyof typeof SAMPLE_PROBES

/** Pool indices that the probes of mode `sample` refer to. */
export interface SampleRefs extends Readonly<Record<SampleProbeName, number>> {
  /** The class of what is kept in the variable. */
  readonly stackClass: number
  /** Tells a call site; 0 unless asked for. */
  readonly site: number
}

/** Pool indices that probes of call sites refer to. */
export type SiteRefs = { readonly [method in keyof typeof SITE_PROBES]: number }

/** Pool indices that probes refer to. */
export interface RuntimeRefs {
  readonly methodEntry: number
  readonly methodExit: number
  /** The same, handing through the value that is returned, by `valueType`: those that the class needs. */
  readonly valueExits: ReadonlyMap<string, number>
  /** The same, handing through what is thrown. */
  readonly methodThrown: number
  readonly methodResume: number
  readonly rootEntry: number
  readonly rootExit: number
  readonly rootThrown: number
  /** These are 0 where events tell the time. */
  readonly countLoop: number
  readonly countCall: number
  /** 0 unless calls or bytecodes are counted. */
  readonly countLeaf: number
  readonly reflectiveCall: number
  /** Hides what a method handle calls from C1; 0 but for the class that gives it. */
  readonly handleMember: number
  /** Class java/lang/Throwable, for the frames of our handlers. */
  readonly throwable: number
  /** The Utf8 that names the attribute. */
  readonly stackMapTable: number
  /** Null but for a class with regions. */
  readonly region: RegionRefs | null
  /** Classes for the frames of shared exits, by name: all that `returnedClasses` asked for. */
  readonly returned: ReadonlyMap<string, number>
}

/** The runtime's methods for probes where work changes hands. */
const HAND_OVER_METHODS = {
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

/** The runtime's methods for probes where threads wait. */
const WAIT_METHODS = {
  lockWanted: OBJECT,
  lockTaken: NOTHING,
  calling: ID,
  monitorHeld: '(Ljava/lang/Object;I)V',
  waitBegins: '(Ljava/lang/Object;I)V',
  waitEnds: NOTHING,
  callWaits: '(Ljava/lang/Object;I)V',
  callWaited: NOTHING,
} as const

export type WaitRefs = {
  readonly [method in keyof typeof WAIT_METHODS]: number
} & {
  /** The class itself. */
  readonly own: number
}

/** Pool indices that those probes refer to. */
export type HandOverRefs = { readonly [method in keyof typeof HAND_OVER_METHODS]: number }

export interface RuntimeBlock extends RuntimeRefs {
  /** Null but for mode `sample`. */
  readonly samples: SampleRefs | null
  /** Null where allocations are not told. */
  readonly allocations: AllocationRefs | null
  /** Null unless call sites are told, and by all modes but `sample`. */
  readonly sites: SiteRefs | null
  /** Null for classes where no work changes hands. */
  readonly handOver: HandOverRefs | null
  /** Null unless waits are told. */
  readonly waits: WaitRefs | null
  /** Raw entries to append to the pool. */
  readonly poolBytes: Uint8Array
  /** Slots they take. */
  readonly poolEntries: number
}

/** What a recipe needs besides. */
interface MoreProbes {
  /** The class's own name, where waits are told. */
  readonly waitsOf?: string | undefined
  /** Threads sample themselves. */
  readonly samples?: boolean
  /** Probes tell call sites. */
  readonly sites?: boolean
  /** Some methods have one probe a call (leaf.ts). */
  readonly leaves?: boolean
  /** The class gives what method handles call. */
  readonly handleMembers?: boolean
  /** What methods of the class return, in order. */
  readonly values?: readonly ValueType[]
}

/**
 * @param returned  names of more classes to have: of one class file always the same
 * @param handsOver whether the class is one where work changes hands
 * @param waitsOf   where probes tell of waiting, the name of the class
 */
export function runtimeBlock(
  pool: ConstantPool,
  returned: readonly string[],
  handsOver = false,
  clock: EventClock = 'time',
  {
    waitsOf,
    samples = false,
    sites = false,
    leaves = false,
    handleMembers = false,
    values = [],
  }: MoreProbes = {},
): RuntimeBlock {
  const valueExits = VALUE_EXITS[clock === 'allocated' ? 'executed' : clock]
  const valueTexts = values.flatMap((type) => valueExits[type])
  const more = { waitsOf, samples, sites, leaves, handleMembers }
  const block = new Block(pool, returned, handsOver, clock, more, valueTexts)
  const runtime = block.class(RUNTIME_CLASS)
  const probe = (key: keyof (typeof PROBES)['time']): number => {
    const [name, descriptor] = PROBES[clock][key]
    return block.method(runtime, name, descriptor)
  }
  const executed = ([name, descriptor]: readonly [string, string]): number =>
    clock === 'time' || clock === 'switched' ? 0 : block.method(runtime, name, descriptor)
  return {
    methodEntry: probe('methodEntry'),
    methodExit: probe('methodExit'),
    valueExits: new Map(
      values.map((type) => {
        const [name, descriptor] = valueExits[type]
        return [type, block.method(runtime, name, descriptor)]
      }),
    ),
    methodThrown: probe('methodThrown'),
    methodResume: probe('methodResume'),
    rootEntry: probe('rootEntry'),
    rootExit: probe('rootExit'),
    rootThrown: probe('rootThrown'),
    countLoop: executed(EXECUTED.countLoop),
    countCall: executed(EXECUTED.countCall),
    countLeaf: leaves ? executed(LEAF) : 0,
    reflectiveCall: block.method(runtime, 'reflectiveCall', OBJECT),
    handleMember: handleMembers ? block.method(runtime, 'handleMember', SAME_OBJECT) : 0,
    throwable: block.class('java/lang/Throwable'),
    stackMapTable: block.utf8('StackMapTable'),
    region: null,
    returned: new Map(returned.map((name) => [name, block.class(name)])),
    samples: samples ? sampleRefs(block, sites) : null,
    sites: sites && !samples ? refsOf(SITE_PROBES, block, runtime) : null,
    handOver: handsOver ? refsOf(HAND_OVER_METHODS, block, runtime) : null,
    allocations: clock === 'allocated' ? allocationRefs(block, runtime) : null,
    waits:
      waitsOf === undefined ? null : { ...refsOf(WAIT_METHODS, block, runtime), own: block.class(waitsOf) },
    poolBytes: block.writer.finish(),
    poolEntries: block.entries,
  }
}

function allocationRefs(block: Block, runtime: number): AllocationRefs {
  const refs = Object.entries(ALLOCATIONS).map(([name, [method, type]]) => [
    name,
    block.method(runtime, method, type),
  ])
  return Object.fromEntries(refs) as AllocationRefs
}

function sampleRefs(block: Block, sites: boolean): SampleRefs {
  const owner = block.class(SAMPLES_CLASS)
  const refs = Object.entries(SAMPLE_PROBES).map(([name, descriptor]) => [
    name,
    block.method(owner, name, descriptor),
  ])
  const stackClass = block.class(STACK_CLASS)
  const site = sites ? block.method(owner, 'site', SAMPLE_SITE) : 0
  return { ...(Object.fromEntries(refs) as Record<SampleProbeName, number>), stackClass, site }
}

/** The block of a class of which regions are timed: it has no other probes. */
export function regionBlock(
  pool: ConstantPool,
  returned: readonly string[],
  handleMembers: boolean,
): RuntimeBlock {
  const block = new Block(pool, returned, false, 'regions', { handleMembers })
  const runtime = block.class(RUNTIME_CLASS)
  const probe = (key: keyof RegionRefs): number => {
    const [name, descriptor] = REGION_PROBES[key]
    return block.method(runtime, name, descriptor)
  }
  return {
    ...{ methodEntry: 0, methodExit: 0, methodThrown: 0, methodResume: 0 },
    ...{ valueExits: new Map(), rootEntry: 0, rootExit: 0, rootThrown: 0 },
    ...{ countLoop: 0, countCall: 0, countLeaf: 0 },
    region: { enter: probe('enter'), leave: probe('leave'), exit: probe('exit') },
    reflectiveCall: block.method(runtime, 'reflectiveCall', OBJECT),
    handleMember: handleMembers ? block.method(runtime, 'handleMember', SAME_OBJECT) : 0,
    throwable: block.class('java/lang/Throwable'),
    stackMapTable: block.utf8('StackMapTable'),
    returned: new Map(returned.map((name) => [name, block.class(name)])),
    handOver: null,
    waits: null,
    allocations: null,
    samples: null,
    sites: null,
    poolBytes: block.writer.finish(),
    poolEntries: block.entries,
  }
}

function refsOf<K extends string>(
  methods: Readonly<Record<K, string>>,
  block: Block,
  runtime: number,
): Readonly<Record<K, number>> {
  const refs = Object.entries<string>(methods).map(([name, type]) => [
    name,
    block.method(runtime, name, type),
  ])
  return Object.fromEntries(refs) as Record<K, number>
}

const TEXTS = [RUNTIME_CLASS, 'reflectiveCall', OBJECT, 'java/lang/Throwable', 'StackMapTable']

interface Wanted {
  readonly text: string
  readonly bytes: Uint8Array
}

function wanted(text: string): Wanted {
  return { text, bytes: encodeModifiedUtf8(text) }
}

const wantedFor = (probes: object): Wanted[] =>
  [...new Set<string>([...TEXTS, ...Object.values(probes).flat()])].map(wanted)
const WANTED: Readonly<Record<EventClock | 'regions', Wanted[]>> = {
  time: wantedFor(PROBES.time),
  switched: wantedFor(PROBES.switched),
  executed: wantedFor(PROBES.executed),
  allocated: wantedFor(PROBES.allocated),
  regions: wantedFor(REGION_PROBES),
}
const WANTED_TO_SAMPLE = [
  ...new Set([SAMPLES_CLASS, STACK_CLASS, ...Object.entries(SAMPLE_PROBES).flat()]),
].map(wanted)
const WANTED_TO_TELL_SITES = ['site', SAMPLE_SITE, ...Object.entries(SITE_PROBES).flat()].map(wanted)
const WANTED_OF_LEAVES = [...LEAF].map(wanted)
const WANTED_TO_HIDE_MEMBERS = ['handleMember', SAME_OBJECT].map(wanted)
const WANTED_TO_HAND_OVER = [...Object.keys(HAND_OVER_METHODS), OBJECTS, NOTHING].map(wanted)
const WANTED_TO_WAIT = [...new Set(Object.entries(WAIT_METHODS).flat())].map(wanted)

class Block {
  readonly writer = new Writer(320)
  entries = 0
  readonly #pool: ConstantPool
  readonly #texts: Map<string, number>

  constructor(
    pool: ConstantPool,
    returned: readonly string[],
    handsOver: boolean,
    clock: keyof typeof WANTED,
    { waitsOf, samples, sites, leaves, handleMembers }: MoreProbes,
    moreTexts: readonly string[] = [],
  ) {
    this.#pool = pool
    const more = [
      ...(handsOver ? WANTED_TO_HAND_OVER : []),
      ...(waitsOf === undefined ? [] : [...WANTED_TO_WAIT, wanted(waitsOf)]),
      ...(samples ? WANTED_TO_SAMPLE : []),
      ...(sites ? WANTED_TO_TELL_SITES : []),
      ...(leaves ? WANTED_OF_LEAVES : []),
      ...(handleMembers ? WANTED_TO_HIDE_MEMBERS : []),
    ]
    this.#texts = findTexts(pool, [...WANTED[clock], ...more, ...[...returned, ...moreTexts].map(wanted)])
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

  method(owner: number, name: string, descriptor: string): number {
    return this.#entry(
      CONSTANT_METHODREF,
      owner,
      this.#entry(CONSTANT_NAME_AND_TYPE, this.utf8(name), this.utf8(descriptor)),
    )
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
    const { bytes, offsets, count } = this.#pool
    if (first >= count || (second !== undefined && second >= count)) return 0 // refers to a new entry
    for (let index = 1; index < count; index++) {
      const at = offsets[index]
      if (at === 0 || bytes[at] !== tag || u2At(bytes, at + 1) !== first) continue
      if (second === undefined || u2At(bytes, at + 3) === second) return index
    }
    return 0
  }

  #appended(): number {
    return this.#pool.count + this.entries++
  }
}

/** The first index of each of our texts that the pool holds, compared as bytes: nothing is decoded. */
function findTexts({ bytes, offsets, count }: ConstantPool, texts: readonly Wanted[]): Map<string, number> {
  // By length: a pool has thousands of texts, few of them as long as one of ours.
  const byLength = new Map<number, Wanted[]>()
  for (const it of texts) {
    const alike = byLength.get(it.bytes.length)
    if (alike === undefined) byLength.set(it.bytes.length, [it])
    else alike.push(it)
  }
  const found = new Map<string, number>()
  for (let index = 1; index < count; index++) {
    const at = offsets[index]
    if (at === 0 || bytes[at] !== CONSTANT_UTF8) continue
    const alike = byLength.get(u2At(bytes, at + 1))
    if (alike === undefined) continue
    for (const { text, bytes: ours } of alike)
      if (!found.has(text) && isAt(bytes, at + 3, ours)) found.set(text, index)
  }
  return found
}

function isAt(bytes: Uint8Array, at: number, ours: Uint8Array): boolean {
  for (let i = 0; i < ours.length; i++) if (bytes[at + i] !== ours[i]) return false
  return true
}
