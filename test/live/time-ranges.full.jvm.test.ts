// Time ranges of a recording, with a program whose work changes at a known time.

import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import {
  callsByPath,
  type JsonNode,
  type JsonProfile,
  jfluid,
  startRecording,
  sumsAreExact,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { Terminal } from '../support/terminal.ts'

const SERVE = 'fix.Shift.serve(Z)V'
const EARLY = `${SERVE};fix.Shift.early()V`
const LATE = `${SERVE};fix.Shift.late()V`
const SPIN = 'fix.Shift.spin(I)I'

describe.each(newestOrAll)('time ranges on JDK $version', (jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Shift')
  })

  /** Records 6.5 s of early work and late work. Segments have 5 s, and 2.5 s or more are for delays of a busy machine. */
  async function recorded(lateMs: number, ...options: string[]) {
    const java = startJava(jdk, ['-cp', classes, 'fix.Shift'])
    await java.line(/^ready/)
    const recording = startRecording(java.pid, '--root', 'fix.Shift.serve', ...options)
    await recording.started
    const calls = async (work: string, nth: number): Promise<number> => {
      java.send(work)
      return Number((await java.line(/^done/, nth)).slice('done '.length))
    }
    const [early, late] = [await calls('early 6500', 1), await calls(`late ${lateMs}`, 2)]
    const whole = await recording.stop()
    const range = async (...bounds: string[]): Promise<JsonProfile> => {
      const { stdout } = await jfluid('export', recording.file, '--format', 'json', ...bounds)
      return JSON.parse(stdout) as JsonProfile
    }
    return { file: recording.file, whole, range, early, late }
  }

  it('rows and latency of a range are those of its segments, and the segments are the whole recording', async () => {
    const { file, whole, range, early, late } = await recorded(5500, '--scheme', 'b')
    expect(callsByPath(whole.merged)).toEqual(
      new Map([
        [SERVE, early + late],
        [EARLY, early],
        [`${EARLY};${SPIN}`, early],
        [`${SERVE};fix.Shift.rest()V`, early + late],
        [LATE, late],
        [`${LATE};${SPIN}`, 2 * late],
      ]),
    )
    const [first, middle, last] = [
      await range('--to', '3s'),
      await range('--from', '6s', '--to', '8s'),
      await range('--from', '11s'),
    ]
    const [inFirst, inMiddle, inLast] = [first, middle, last].map((it) => callsByPath(it.merged))
    expect(inFirst!.has(LATE)).toBe(false)
    expect(inLast!.has(EARLY)).toBe(false)
    expect([inMiddle!.has(EARLY), inMiddle!.has(LATE)]).toEqual([true, true])
    for (const [path, calls] of callsByPath(whole.merged))
      expect([inFirst, inMiddle, inLast].reduce((sum, it) => sum + (it!.get(path) ?? 0), 0)).toBe(calls)
    for (const { merged } of [first, middle, last]) expect(sumsAreExact(merged)).toBe(true)
    const totalOf = ({ merged }: JsonProfile) => merged.reduce((sum, root) => sum + root.totalNs, 0)
    expect(totalOf(first) + totalOf(middle) + totalOf(last)).toBeCloseTo(totalOf(whole), -3)
    expect(first.rootCalls!.count + middle.rootCalls!.count + last.rootCalls!.count).toBe(early + late)
    // The work of a later call is twice as long. Other processes can make all calls of a range longer.
    if (FULL)
      expect(last.rootCalls!.percentiles['50']).toBeGreaterThan(first.rootCalls!.percentiles['50'] * 1.1)
    // On a busy machine, a segment ends late.
    expect(middle.range).toMatchObject({ segmentMs: 5000 })
    expect(Math.floor(middle.range!.fromMs / 1000)).toBe(5)

    const report = await jfluid('report', file, '--from', '6s', '--to', '8s')
    expect(report.stdout).toMatch(
      /^range {5}5\.\d s to 10\.\d s of 1\d\.\d s \(rounded to segments of 5\.0 s\)/m,
    )
    const { segments } = await readProfile(file)
    expect(segments!.segments.map((it) => it.epoch)).toEqual([0, 0, 0])
  })

  it('with scheme adaptive, a range has sampled rows whose times sum to the time of the root', async () => {
    const { file, range, early, late } = await recorded(
      6500,
      ...['--scheme', 'adaptive', '--time', 'fix.Shift.early', '--time', 'fix.Shift.late'],
    )
    // Methods that get probes later shorten the rows of a range to its end, so the first range ends before the early work does.
    const [first, last] = [await range('--to', '3s'), await range('--from', '11s')]
    for (const { merged } of [first, last]) expect(sumsAreExact(merged)).toBe(true)
    const [root] = last.merged as [JsonNode]
    expect(root.known).toBe('timed')
    // The rows cover a part of the range if the set of timed methods changed in the range.
    const { fromMs, toMs, rowsFromMs, rowsToMs } = last.range!
    const part = (rowsToMs - rowsFromMs) / (toMs - fromMs)
    expect(Math.abs(last.rootCalls!.total * part - root.totalNs)).toBeLessThan(0.3 * root.totalNs)
    expect(JSON.stringify(last.merged)).toContain('"known":"sampled"')
    const [inFirst, inLast] = [callsByPath(first.merged), callsByPath(last.merged)]
    expect([inFirst.has(EARLY), inLast.has(EARLY), inLast.has(LATE)]).toEqual([true, false, true])
    const { segments } = await readProfile(file)
    expect(segments!.samples!.ms.length).toBeGreaterThan(0)
    // A segment also ends when the set of timed methods changes.
    const before = await range('--to', `${Math.floor(fromMs) - 1}ms`)
    expect(before.rootCalls!.count + last.rootCalls!.count).toBe(early + late)
  })

  it('Space at two bars of the timeline shows the time between them, in a running session and in its file', async () => {
    const java = startJava(jdk, ['-cp', classes, 'fix.Shift'])
    await java.line(/^ready/)
    const file = join(await temporaryDirectory(), 'shift.jfluid')
    const live = Terminal.jfluid([
      ...['attach', String(java.pid), '--root', 'fix.Shift.serve', '--scheme', 'b', '--out', file],
    ])
    await live.until(([first]) => /waiting for root/.test(first!))
    java.send('early 7000')
    await java.line(/^done/, 1)
    java.send('late 6000')
    await java.line(/^done/, 2)
    // The calls of this request end after the range is shown.
    java.send('late 8000')

    const shows = (screen: string, ...names: readonly string[]) =>
      ['early', 'late'].every((name) => screen.includes(`fix.Shift.${name}`) === names.includes(name))
    const select = async (terminal: Terminal, keys: string, range: RegExp, ...names: readonly string[]) => {
      terminal.send('L')
      await terminal.until((lines) => /^ timeline, one bar: 1 s/.test(lines[2]!))
      terminal.send(keys)
      await terminal.until((lines) => range.test(lines[1]!) && /method$/.test(lines[2]!))
      terminal.send('m')
      await terminal.until((lines) => /▾self/.test(lines[2]!) && shows(lines.join('\n'), ...names))
    }
    // The key h selects the bar to the left, the key l the bar to the right.
    const first = `${'h'.repeat(60)} ll `
    await select(live, first, / range 0 s to 5\.\d s$/, 'early')
    expect(live.screen()[0]).toContain('PAUSED')
    live.send('\x1b')
    await live.until((lines) => !/PAUSED/.test(lines[0]!) && /^ timeline/.test(lines[2]!))
    await select(live, `${'l'.repeat(60)}  `, / range [12]\d\.\d s to [12]\d\.\d s$/, 'late')
    live.send('\x1b')
    await java.line(/^done/, 3)
    live.send('m')
    await live.until((lines) => !/PAUSED/.test(lines[0]!) && shows(lines.join('\n'), 'early', 'late'))
    live.send('q')
    expect((await live.exit).code).toBe(0)

    const opened = Terminal.jfluid(['open', file])
    await opened.until((lines) => /method$/.test(lines[2]!))
    await select(opened, first, / range 0 s to 5\.\d s$/, 'early')
    opened.send('q')
    expect((await opened.exit).code).toBe(0)
  })
})
