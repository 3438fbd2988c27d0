import { describe, expect, it } from 'vitest'
import { ACC_PRIVATE, ACC_STATIC } from '../../../src/classfile/access.ts'
import type { FieldInfo } from '../../../src/classfile/class-file.ts'
import { sourcesOf, TraceIds } from '../../../src/session/code/trace-ids.ts'
import type { Agent } from '../../../src/wire/agent.ts'

const MDC = 'org.slf4j.MDC'
const LOGBACK = 'ch.qos.logback.classic.util.LogbackMDCAdapter'
const BASIC = 'org.slf4j.helpers.BasicMDCAdapter'
const SHADED = 'io.opentelemetry.javaagent.shaded.'
const SDK_SPAN = 'io.opentelemetry.sdk.trace.SdkSpan'

const field = (name: string, descriptor = 'Ljava/lang/Object;', access = ACC_PRIVATE): FieldInfo => ({
  ...{ name, descriptor, access },
})
const inClass = (name: string, descriptor?: string) => field(name, descriptor, ACC_PRIVATE | ACC_STATIC)

/** The classes of a JVM: name, fields. Numbered from 1. */
function loaded(...classes: readonly (readonly [name: string, ...fields: FieldInfo[]])[]) {
  const byName = new Map<string, { id: number; fields: FieldInfo[] }[]>()
  for (const [i, [name, ...fields]] of classes.entries())
    byName.set(name, [...(byName.get(name) ?? []), { id: i + 1, fields }])
  return byName
}

const tracing = (prefix: string) =>
  [
    [`${prefix}io.opentelemetry.context.ThreadLocalContextStorage`, inClass('THREAD_LOCAL_STORAGE')],
    [`${prefix}io.opentelemetry.api.trace.SpanContextKey`, inClass('KEY')],
    [`${prefix}io.opentelemetry.context.ArrayBasedContext`, field('entries', '[Ljava/lang/Object;')],
    [SDK_SPAN, field('spanLimits'), field('context')],
    [`${prefix}io.opentelemetry.api.internal.AutoValue_ImmutableSpanContext`, field('traceId')],
  ] as const

describe('sources of trace ids', () => {
  it('a JVM without a known library has none', () => {
    expect(sourcesOf(loaded(['fix.App', field('traceId')]))).toEqual({ sources: [], strange: [] })
  })

  it('the span of OpenTelemetry leads to its trace id', () => {
    const path = { local: [[[1, 'THREAD_LOCAL_STORAGE']]], key: [[[2, 'KEY']]] }
    const steps = [[[3, 'entries']], [[4, 'context']], [[5, 'traceId']]]
    for (const prefix of ['', SHADED])
      expect(sourcesOf(loaded(...tracing(prefix)))).toEqual({ sources: [{ ...path, steps }], strange: [] })
  })

  it('OpenTelemetry without a span so far has no source', () => {
    expect(sourcesOf(loaded(...tracing('').slice(0, 3)))).toEqual({ sources: [], strange: [] })
  })

  it('the adapter of MDC has the field of its version', () => {
    for (const [name, adapter] of [
      ['copyOnThreadLocal', LOGBACK],
      ['readWriteThreadLocalMap', LOGBACK],
      ['inheritableThreadLocal', BASIC],
      ['inheritableThreadLocalMap', BASIC],
    ] as const)
      for (const holder of ['mdcAdapter', 'MDC_ADAPTER'])
        expect(sourcesOf(loaded([MDC, inClass(holder)], [adapter, field(name)]))).toEqual({
          sources: [{ local: [[[1, holder]], [[2, name]]], key: null, steps: [] }],
          strange: [],
        })
  })

  it('each loader with a library is a source', () => {
    const { sources } = sourcesOf(
      loaded(
        [MDC, inClass('mdcAdapter')],
        [MDC, inClass('mdcAdapter')],
        [LOGBACK, field('copyOnThreadLocal')],
      ),
    )
    expect(sources.map((it) => it.local[0])).toEqual([[[1, 'mdcAdapter']], [[2, 'mdcAdapter']]])
  })

  it('a field of an unknown name, type or kind is not read', () => {
    const strange = [{ library: 'OpenTelemetry', class: SDK_SPAN }]
    for (const other of [
      [field('spanContext')],
      [field('context', 'J')],
      [inClass('context')],
      [field('context'), field('context', 'J')],
    ]) {
      const classes = tracing('').map((it) => (it[0] === SDK_SPAN ? ([SDK_SPAN, ...other] as const) : it))
      expect(sourcesOf(loaded(...classes))).toEqual({ sources: [], strange })
    }
  })
})

describe('the search for libraries', () => {
  it('is due when slow calls are kept, and once more later', () => {
    const search = new TraceIds({} as Agent, new Set())
    expect(search.isDue(0)).toBe(false)
    search.start(1000)
    search.start(2000)
    expect([1000, 1500, 5900, 6000, 90_000].map((it) => search.isDue(it))).toEqual([
      ...[true, false, false, true, false],
    ])
  })

  it('a class file that cannot be read leads to a warning', async () => {
    const warnings = new Set<string>()
    const agent = {
      classesNamed: async (names: readonly string[]) => names.map((it) => (it === MDC ? [7] : [])),
      classBytes: async (ids: readonly number[]) => ids.map(() => null),
    } as unknown as Agent
    await new TraceIds(agent, warnings).find()
    expect([...warnings]).toEqual([
      'trace ids of MDC are not read: jfluid does not know the fields of its class org.slf4j.MDC',
    ])
  })
})
