// Recorded data are kept when jfluid is killed, when the disk is full, and while a live view is open.

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { inProcess } from '../support/in-process.ts'
import { type JavaProcess, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { cli, jfluid, readProfileJson, startJfluid, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal } from '../support/terminal.ts'
import { until } from './remains.ts'

const ROOT = ['--root', 'fix.Ticker.work'] as const
const KEEPS = ['--autosave', '100ms'] as const

describe.each(newestOrAll)('saved profiles of a JVM of JDK $version', (jdk) => {
  let classes: string
  let java: JavaProcess
  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Ticker')
    java = startJava(jdk, ['-cp', classes, 'fix.Ticker', '1'])
    await java.line(/ready/)
  })

  it('the autosave file of a killed jfluid is kept, and the next session prints its path', async () => {
    const recording = startRecording(java.pid, ...ROOT, ...KEEPS)
    await recording.started
    const autosaved = `${recording.file}.autosave`
    await until(() => existsSync(autosaved))
    recording.process.child.kill('SIGKILL')
    await recording.process.exit

    const { merged, warnings } = await readProfileJson(autosaved)
    expect(merged[0]?.calls).toBeGreaterThan(0)
    expect(warnings.join()).toContain('truncated: autosaved during the recording')
    const missing = await inProcess('report', recording.file)
    expect(missing.code).toBe(STATUS.fileNotFound)
    expect(missing.stderr).toContain(`jfluid report ${autosaved}`)

    const again = startJfluid(
      ...['record', `${java.pid}`, ...ROOT, ...KEEPS, '--duration', '10m', '--out', recording.file],
    )
    await until(() => existsSync(`${autosaved}.2`))
    again.child.kill('SIGINT')
    expect((await again.exit).code, again.stderr()).toBe(0)
    expect(again.stderr()).toContain(`${autosaved} contains a recording`)
    expect(readdirSync(join(recording.file, '..')).sort()).toEqual(['p.jfluid', 'p.jfluid.autosave'])
  })

  const recordings = [
    ['of a region', ['--region', 'fix.Ticker.work']],
    ['of a root', ROOT],
    ['of the whole JVM', ['--mode', 'sample']],
  ] as const
  // The same code writes all kinds of profiles. A profile of regions has no tree.
  it.each(FULL ? recordings : recordings.slice(0, 1))(
    'a recording %s is saved in another directory if the disk is full',
    async (_, what) => {
      const p = startProcess(
        process.execPath,
        [cli, 'record', `${java.pid}`, ...what, '--duration', '1s', '--out', '/dev/full'],
        { env: { TMPDIR: temporaryDirectory() } },
      )
      expect((await p.exit).code, p.stderr()).toBe(STATUS.cannotWrite)
      expect(p.stderr()).toMatch(/cannot write \/dev\/full: no space left on the device; the profile is in /)
      const [, elsewhere = ''] = /the profile is in (\S+)/.exec(p.stderr()) ?? []
      expect((await inProcess('report', elsewhere)).code).toBe(0)
    },
  )

  itInFull(
    'jfluid run refuses an unwritable output path, and --autosave without a file, before it starts the program',
    async () => {
      const program = [jdk.java, '-cp', classes, 'fix.Ticker']
      const missing = join(temporaryDirectory(), 'none', 'p.jfluid')
      const refused = await jfluid('run', ...ROOT, '--record', missing, '--', ...program)
      expect(refused.code).toBe(STATUS.cannotWrite)
      expect(refused.stdout).toBe('')
      const withoutFile = await inProcess('run', ...ROOT, '--autosave', '1s', '--', ...program)
      expect(withoutFile.code).toBe(STATUS.usage)
    },
  )

  itInFull(
    'keys s and e save the data that the view shows, and jfluid open displays the saved file',
    async () => {
      const folder = temporaryDirectory()
      const out = join(folder, 'whole.jfluid')
      const terminal = Terminal.jfluid(['attach', `${java.pid}`, ...ROOT, ...KEEPS, '--out', out])
      await terminal.until((lines) => lines.some((line) => /100\.0 +\d.*fix\.Ticker\.work/.test(line)))
      terminal.send('s')
      await terminal.until((lines) => lines.some((line) => line.startsWith(' write to jfluid-')))
      const saved = join(folder, 's.jfluid')
      terminal.send(`\x15${saved}\r`)
      await terminal.until((lines) => lines.some((line) => line.startsWith(' saved: jfluid open')))
      terminal.send('e')
      await terminal.until((lines) => lines.some((line) => line.startsWith('  json')))
      terminal.send('\r')
      await terminal.until((lines) => lines.some((line) => /^ write to jfluid-.*\.json/.test(line)))
      const exported = join(folder, 'e.json')
      terminal.send(`\x15${exported}\r`)
      await terminal.until((lines) => lines.some((line) => line.startsWith(' exported as json')))
      await until(() => existsSync(`${out}.autosave`))
      terminal.send('q')
      expect((await terminal.exit).code, terminal.scrollback().join('\n')).toBe(0)

      expect(readdirSync(folder).sort()).toEqual(['e.json', 's.jfluid', 'whole.jfluid'])
      const calls = async (file: string) => (await readProfileJson(file)).merged[0]?.calls ?? 0
      expect((await readProfileJson(saved)).warnings.join()).toContain(
        'truncated: saved during the recording',
      )
      expect((await readProfileJson(out)).truncated).toBe(false)
      expect(await calls(saved)).toBeLessThanOrEqual(await calls(out))

      const opened = Terminal.jfluid(['open', saved])
      await opened.until(
        (lines) => lines[0]?.includes('s.jfluid') && /fix\.Ticker\.work/.test(lines[3] ?? ''),
      )
      opened.send('q')
      expect((await opened.exit).code).toBe(0)
      expect(opened.modes().screen).toBe('normal')
      rmSync(folder, { recursive: true })
    },
  )

  itInFull('jfluid open without a terminal suggests jfluid report', async () => {
    const { code, stderr } = await inProcess('open', 'p.jfluid')
    expect(code).toBe(STATUS.noTerminal)
    expect(stderr).toMatch(/print it without one: jfluid report p\.jfluid/i)
  })
})
