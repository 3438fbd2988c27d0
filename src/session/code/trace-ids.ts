// Where tracing and logging libraries of the target hold the trace id of a thread. Threads read it after a slow call, as fields of the
// library's objects: no code of the library runs. The target reads a field by its name alone, so this module checks the class file first:
// a field must be known, occur once, and hold a reference.

import { ACC_STATIC } from '../../classfile/access.ts'
import type { FieldInfo } from '../../classfile/class-file.ts'
import { readableClassFile } from '../../classfile/recent.ts'
import type { Agent } from '../../wire/agent.ts'
import { AgentRefused } from '../../wire/link.ts'
import type { TraceIdField, TraceIdSource } from '../../wire/messages.ts'

/** Time after which libraries are searched once more: some are loaded by the first request. */
const AGAIN_MS = 5_000
/** Maximum number of sources. Several loaders can have the same library. */
const MAX_SOURCES = 8

/** The names that a field has in the known versions of a class. */
interface KnownField {
  /** Name of the class, with dots. */
  readonly class: string
  readonly fields: readonly string[]
  readonly static?: true
}

interface Library {
  readonly name: string
  /** From a static field to a ThreadLocal. Each step has the classes that an object can have. */
  readonly local: readonly (readonly KnownField[])[]
  /** Static field with the key of the span in the context; null if the ThreadLocal has a map. */
  readonly key: KnownField | null
  /** From the context to the trace id. */
  readonly steps: readonly (readonly KnownField[])[]
}

/** @param prefix  of the package of the API */
const openTelemetry = (prefix: string): Library => ({
  name: 'OpenTelemetry',
  local: [
    [
      {
        class: `${prefix}io.opentelemetry.context.ThreadLocalContextStorage`,
        fields: ['THREAD_LOCAL_STORAGE'],
        static: true,
      },
    ],
  ],
  key: { class: `${prefix}io.opentelemetry.api.trace.SpanContextKey`, fields: ['KEY'], static: true },
  steps: [
    [{ class: `${prefix}io.opentelemetry.context.ArrayBasedContext`, fields: ['entries'] }],
    [
      { class: 'io.opentelemetry.sdk.trace.SdkSpan', fields: ['context'] },
      { class: `${prefix}io.opentelemetry.api.trace.PropagatedSpan`, fields: ['spanContext'] },
    ],
    [
      {
        class: `${prefix}io.opentelemetry.api.internal.AutoValue_ImmutableSpanContext`,
        fields: ['traceId'],
      },
    ],
  ],
})

/** In the order in which they are asked. */
const LIBRARIES: readonly Library[] = [
  openTelemetry(''),
  openTelemetry('io.opentelemetry.javaagent.shaded.'), // its own copy in the OpenTelemetry agent
  {
    name: 'MDC',
    local: [
      [{ class: 'org.slf4j.MDC', fields: ['mdcAdapter', 'MDC_ADAPTER'], static: true }],
      [
        {
          class: 'ch.qos.logback.classic.util.LogbackMDCAdapter',
          fields: ['copyOnThreadLocal', 'readWriteThreadLocalMap'],
        },
        {
          class: 'org.slf4j.helpers.BasicMDCAdapter',
          fields: ['inheritableThreadLocal', 'inheritableThreadLocalMap'],
        },
      ],
    ],
    key: null,
    steps: [],
  },
]

const knownFields = (library: Library): readonly KnownField[] => [
  ...library.local.flat(),
  ...(library.key === null ? [] : [library.key]),
  ...library.steps.flat(),
]

/** Names of the classes that `sourcesOf` needs. */
export const TRACE_ID_CLASSES: readonly string[] = [
  ...new Set(LIBRARIES.flatMap((it) => knownFields(it).map((field) => field.class))),
]

/** A loaded class. `fields` is null if its class file cannot be read. */
export interface LoadedLibraryClass {
  readonly id: number
  readonly fields: readonly FieldInfo[] | null
}

/**
 * Returns where the loaded libraries hold trace ids.
 *
 * @param loaded  the loaded classes of each name; several loaders can have a class of the same name
 * @returns `strange`: classes of libraries that have other fields than the known versions
 */
export function sourcesOf(loaded: ReadonlyMap<string, readonly LoadedLibraryClass[]>): {
  readonly sources: readonly TraceIdSource[]
  readonly strange: readonly { readonly library: string; readonly class: string }[]
} {
  const strange = new Map<string, { library: string; class: string }>()
  const sources: TraceIdSource[] = []
  for (const library of LIBRARIES) {
    const found = (known: KnownField): TraceIdField[] =>
      (loaded.get(known.class) ?? []).flatMap((it) => {
        const name = nameOf(known, it.fields)
        if (name === null) strange.set(known.class, { library: library.name, class: known.class })
        return name === null ? [] : [[it.id, name] as const]
      })
    const step = (known: readonly KnownField[]): TraceIdField[] => known.flatMap(found)
    const [first = [], ...rest] = library.local.map(step)
    const keys = library.key === null ? [null] : found(library.key)
    const steps = library.steps.map(step)
    if (steps.some((it) => it.length === 0)) continue // there has been no span yet
    for (const local of first)
      for (const key of keys) sources.push({ local: [[local], ...rest], key: key && [[key]], steps })
  }
  return { sources: sources.slice(0, MAX_SOURCES), strange: [...strange.values()] }
}

function nameOf(known: KnownField, fields: readonly FieldInfo[] | null): string | null {
  const all = (fields ?? []).filter((it) => known.fields.includes(it.name))
  const [field] = all
  const holdsReference = field !== undefined && /^(\[|L)/.test(field.descriptor)
  const isStatic = field !== undefined && (field.access & ACC_STATIC) !== 0
  return all.length === 1 && holdsReference && isStatic === (known.static === true) ? field.name : null
}

/** Finds the libraries once slow calls are kept, and again later. */
export class TraceIds {
  /** Times of the next searches, in ms since the start of the process. */
  #due: number[] = []
  #wasStarted = false

  constructor(
    private readonly agent: Agent,
    private readonly warnings: Set<string>,
  ) {}

  /** Slow calls are kept from now on. */
  start(nowMs = performance.now()): void {
    if (this.#wasStarted) return
    this.#wasStarted = true
    this.#due = [nowMs, nowMs + AGAIN_MS]
  }

  /** Returns whether `find` is due, and then schedules the next. */
  isDue(nowMs = performance.now()): boolean {
    const [next = Number.POSITIVE_INFINITY] = this.#due
    if (nowMs < next) return false
    this.#due.shift()
    return true
  }

  /** Reads the class files of the loaded libraries, which redefines nothing, and tells the target where the trace ids are. */
  async find(): Promise<void> {
    const ids = await this.agent.classesNamed(TRACE_ID_CLASSES)
    const all = ids.flat()
    if (all.length === 0) return
    const files = await this.agent.classBytes(all)
    const fieldsOf = new Map(all.map((id, i) => [id, fieldsIn(files[i] ?? null)]))
    const loaded = new Map(
      TRACE_ID_CLASSES.map((name, i) => [
        name,
        (ids[i] ?? []).map((id) => ({ id, fields: fieldsOf.get(id) ?? null })),
      ]),
    )
    const { sources, strange } = sourcesOf(loaded)
    for (const { library, class: name } of strange)
      this.warnings.add(
        `trace ids of ${library} are not read: jfluid does not know the fields of its class ${name}`,
      )
    if (sources.length === 0) return
    try {
      await this.agent.traceIds(sources)
    } catch (error) {
      if (!(error instanceof AgentRefused)) throw error
      this.warnings.add(`trace ids are not read: ${error.message}`)
    }
  }
}

function fieldsIn(file: Uint8Array | null): readonly FieldInfo[] | null {
  return file === null ? null : (readableClassFile(file)?.fields() ?? null)
}
