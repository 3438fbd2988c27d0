// --wait-for attaches to a running JVM, or waits for the next JVM that starts, and is ended by a timeout or a signal.

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, newestOrAll } from '../support/jdks.ts'
import {
  AUTOSAVED,
  callsByPath,
  jfluid,
  readProfileJson,
  recordedSoFar,
  startDetached,
  startJfluid,
  stderrLine,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { nameOf, sourceOf } from './wait-for-program.ts'

forNewestJdk((jdk) => {
  async function starter(what: string): Promise<{ name: string; start(...options: string[]): JavaProcess }> {
    const name = `${nameOf(what)}${jdk.version}`
    const classes = await compileJava(jdk, { [`fix/${name}.java`]: sourceOf(name) })
    return { name, start: (...options) => startJava(jdk, [...options, '-cp', classes, `fix.${name}`]) }
  }

  const record = (name: string, pattern: string, out: string) => [
    ...['record', '--wait-for', pattern, '--wait-timeout', '30s', '--root', `fix.${name}.work`],
    ...['--duration', '10m', '--out', out, ...AUTOSAVED],
  ]
  /** Ends a recording after its first calls: the program may not call the root yet when it is found. */
  const ended = async (process: JavaProcess, file: string) => {
    await recordedSoFar({ process, file })
    process.child.kill('SIGINT')
    expect((await process.exit).code, process.stderr()).toBe(0)
  }

  // The first case runs on all JDKs. The second depends little on the JDK and runs only in the full lane.
  const ways: [string, string[]][] = [
    ['with performance data', []],
    ['without performance data', ['-XX:-UsePerfData']],
  ]
  it.each(FULL ? ways : ways.slice(0, 1))(
    '--wait-for attaches to a JVM that starts later, %s',
    async (_, options) => {
      const { name, start } = await starter(`Later${options.length}`)
      const out = join(temporaryDirectory(), 'p.jfluid')
      const waiting = startJfluid(...record(name, `fix.${name.slice(0, -2)}*`, out))
      await stderrLine(waiting, /^waiting for a JVM whose main class is 'fix\.Awaited.*', for 30s$/)
      const java = start(...options)
      await ended(waiting, out)
      expect(waiting.stderr()).toContain(`JVM ${java.pid}: fix.${name}\n`)
      const [calls = 0] = callsByPath((await readProfileJson(out)).merged).values()
      expect(calls).toBeGreaterThan(0)
      expect(java.stdout()).toBe('ready\n') // no thread dump was printed
      if (options.length > 0 || !newestOrAll.includes(jdk)) return
      // A JVM that is already running is used at once.
      const again = startJfluid(...record(name, name, out))
      await ended(again, out)
      expect(again.stderr()).toMatch(new RegExp(`^JVM ${java.pid}: fix\\.${name}\n`))
    },
  )
})

describe('--wait-for without a matching JVM', () => {
  const line = (...more: string[]) => [
    ...['record', '--root', 'A.b', '--out', join(temporaryDirectory(), 'p.jfluid'), ...more],
  ]

  it('--wait-for without a matching JVM ends when it times out or receives a signal', async () => {
    const late = jfluid(...line('--wait-for', nameOf('Never'), '--wait-timeout', '50ms'))
    const waiting = startDetached(...line('--wait-for', nameOf('Never')))
    await stderrLine(waiting, /^waiting for a JVM/)
    waiting.child.kill('SIGINT')
    expect((await waiting.exit).code, waiting.stderr()).toBe(130)
    const { code, stderr } = await late
    expect(code).toBe(68)
    expect(stderr).toContain(`no JVM with the main class '${nameOf('Never')}' was started within 50ms`)
  })
})
