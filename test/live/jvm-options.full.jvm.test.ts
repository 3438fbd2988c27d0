// All kinds of recordings of a Spring Boot service under load, on JVMs with each option that changes how the JVM runs code or stores objects.
// The results are a table in docs/jvm-options.md.
//
// Builds the service with mvn once. JFLUID_UPDATE=1 writes the table.

import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { requestsTo, type Window } from '../bench/servers/analysis.mjs'
import { installBoot } from '../bench/servers/setup.mjs'
import { temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { jfluid, readProfileJson } from '../support/jfluid.ts'
import { expectProof, optionsOf, withArchive } from './jvm-options-list.ts'
import { LoadedService } from './jvm-options-server.ts'
import { putRow } from './jvm-options-table.ts'

const ROOT = 'org.apache.catalina.connector.CoyoteAdapter.service'
const STOCK = 'desk.StockController.stock'
/** Without --include, this root may reach some thousand methods, which get probes. */
const ALLOC = ['--mode', 'alloc', '--root', 'desk.ReportController.report', '--include', 'desk.*']

/** Duration of the load before and after the sessions, and of the recordings, in seconds. */
const WARM_S = 8
const CALM_S = 8
const EXACT_S = 6
const SHORT_S = 3
/** A JVM of JDK 22 or older discards its compiled code first. Scheme adaptive then waits 10 s until it chooses methods. */
const adaptiveSeconds = (jdk: Jdk): number => (jdk.version >= 23 ? 15 : 25)

const now = (): number => Date.now()

async function during(seconds: number): Promise<Window> {
  const begin = now()
  await sleep(seconds * 1000) // the load goes on
  return { begin, end: now() }
}

/** Extracts the service from its jar, since a JVM archives no classes of a jar in a jar, and runs it once for the archive. */
async function archived(jdk: Jdk, train: readonly string[]): Promise<{ jar: string; archive: string }> {
  const directory = temporaryDirectory('jfluid-archive-')
  const run = promisify(execFile)
  cpSync(await installBoot(jdk), join(directory, 'packed.jar'))
  const extract = ['-Djarmode=tools', '-jar', 'packed.jar', 'extract', '--destination', 'service']
  await run(jdk.java, extract, { cwd: directory })
  const archive = join(directory, 'service.archive')
  const jar = join(directory, 'service', 'packed.jar')
  const service = ['--spring.main.sources=desk.Desk', '--desk.clean=true', '--desk.rates=http://127.0.0.1:9']
  const once = [...withArchive(train, archive), '-Xmx512m', '-Dspring.context.exit=onRefresh', '-jar', jar]
  await run(jdk.java, [...once, ...service, '--server.port=0'], { cwd: directory, maxBuffer: 64 << 20 })
  return { jar, archive }
}

async function recorded(service: LoadedService, seconds: number, ...args: string[]): Promise<string> {
  const file = join(temporaryDirectory('jfluid-options-'), 'p.jfluid')
  const command = ['record', `${service.pid}`, '--duration', `${seconds}s`, '--yes', '--out', file, ...args]
  const { code, stderr } = await jfluid(...command)
  expect(code, `jfluid ${command.join(' ')}\n${stderr}`).toBe(0)
  return file
}

const ms = (it: number | null | undefined): string =>
  it === null || it === undefined ? 'unknown' : `${Math.round(it)}`

/** Records the service with scheme adaptive. Returns the text of the pauses. */
async function adaptively(
  service: LoadedService,
  seconds: number,
): Promise<{ pauses: string; timed: string }> {
  const file = await recorded(service, seconds, '--root', ROOT, '--scheme', 'adaptive')
  const { stacks, detach, instrumentation } = await readProfile(file)
  const { merged } = await readProfileJson(file)
  expectProof(detach)
  expect(instrumentation.gaps).toBe(0)
  const rows: typeof merged = []
  for (const left = [...merged]; left.length > 0; ) {
    const row = left.pop()!
    rows.push(row)
    left.push(...row.children)
  }
  const timed = rows.filter(({ known }) => known === 'timed').length
  expect(timed).toBeGreaterThan(0)
  expect(rows.some(({ known }) => known === 'sampled')).toBe(true)
  const states = rows.reduce((sum, { cpuNs = 0, ioNs = 0, lockNs = 0 }) => sum + cpuNs + ioNs + lockNs, 0)
  expect(states).toBeGreaterThan(0)
  const all = [
    ...stacks!.pauses.map(({ predictedMs, measuredMs }) => ({ predictedMs, measuredMs })),
    { predictedMs: null, measuredMs: detach!.pauseMs },
  ]
  const longest = all.toSorted((a, b) => (b.measuredMs ?? 0) - (a.measuredMs ?? 0))[0]!
  const each = all.map((it) => `${ms(it.measuredMs)} (${ms(it.predictedMs)})`).join(', ')
  console.info(`pauses in ms (predicted): ${each}; ${timed} timed rows, ${stacks!.samples} samples`)
  const predicted = stacks!.pauses.map((it) => it.predictedMs ?? 0)
  return { pauses: `${ms(longest.measuredMs)} (${ms(Math.max(...predicted))})`, timed: `${timed}` }
}

/**
 * Expects exact counts of a root of the service, in total and per value of its parameter. Scheme b would instrument some thousand methods
 * that this root may reach.
 */
async function expectStockCalls(service: LoadedService): Promise<void> {
  const file = await recorded(service, EXACT_S, '--root', STOCK, '--scheme', 'adaptive', '--by', 'arg0')
  const { merged, durationMs } = await readProfileJson(file)
  const begin = Date.parse((await readProfile(file)).startedAt)
  await sleep(2_000) // until the last requests are answered
  const { least, most } = requestsTo('narrow', service.stockRequests(), { begin, end: begin + durationMs })
  const [root] = merged
  expect(root!.calls).toBeGreaterThanOrEqual(least)
  expect(root!.calls).toBeLessThanOrEqual(most)
  expect(root!.children.map((it) => it.method).sort()).toEqual(
    ['hamburg', 'lyon', 'porto', 'rotterdam'].map((it) => `by=${it}`),
  )
  // The requests name the warehouses in turn.
  const calls = root!.children.map((it) => it.calls)
  expect(Math.max(...calls) - Math.min(...calls)).toBeLessThanOrEqual(2)
  expect(calls.reduce((sum, it) => sum + it, 0)).toBe(root!.calls)
}

async function expectOtherKinds(service: LoadedService): Promise<void> {
  const sampled = await readProfileJson(await recorded(service, SHORT_S, '--mode', 'sample'))
  expect(sampled.merged.length).toBeGreaterThan(0)
  const alloc = await readProfileJson(await recorded(service, SHORT_S, ...ALLOC))
  expect(alloc.merged[0]!.totalBytes).toBeGreaterThan(0)
  const why = await jfluid('why', `${service.pid}`, '--duration', `${SHORT_S}s`, '--yes')
  expect(why.code, why.stderr).toBe(0)
  expect(why.stdout).toMatch(/\d+ samples? /)
}

forEachJdk((jdk) => {
  const tried = optionsOf(jdk).flatMap((it) => {
    const { perSecond } = it
    return perSecond === undefined ? [] : [{ ...it, perSecond }]
  })

  it.each(tried)(
    'recordings of each kind are correct on a JVM with $name, and the service continues',
    { timeout: 1_200_000 },
    async ({ name, options, train, perSecond }) => {
      const { jar, archive } =
        train === undefined ? { jar: undefined, archive: '' } : await archived(jdk, train)
      const given = withArchive(options, archive)
      const service = await LoadedService.start(jdk, given, perSecond, jar)
      try {
        await during(WARM_S)
        const before = await during(CALM_S)
        const begin = now()
        const { pauses, timed } = await adaptively(service, adaptiveSeconds(jdk))
        const session = { begin, end: now() }
        const busy = (loadavg()[0]! / availableParallelism()).toFixed(1)
        await expectStockCalls(service)
        await expectOtherKinds(service)
        await during(WARM_S)
        const after = await during(CALM_S)
        const [p50Before, p50After, worst] = [service.p50(before), service.p50(after), service.worst(session)]
        console.info(
          `JDK ${jdk.full}, ${name}: p50 ${p50Before.toFixed(1)} ms before and ${p50After.toFixed(1)} ms after, ` +
            `longest latency with scheme adaptive ${ms(worst)} ms, before ${ms(service.worst(before))} ms`,
        )
        expect(service.runs).toBe(true)
        expect(service.failed()).toEqual([])
        // The warning about the agent has the path of its jar.
        expect(service.log().replaceAll(/^WARNING: .*\n/gm, '')).not.toMatch(/JFluid|jfluid|Error\b/)
        // Other programs may use the machine, so only a large difference counts.
        expect(p50After).toBeLessThan(3 * p50Before + 5)
        const latencies = `${p50Before.toFixed(1)} → ${p50After.toFixed(1)}`
        putRow('option', [
          ...[`\`${name}\``.replace('`no option`', 'no option'), jdk.full, `${perSecond}`, timed, pauses],
          ...[ms(worst), latencies, busy, 'original, nothing left'],
        ])
      } finally {
        await service.end()
      }
    },
  )
})
