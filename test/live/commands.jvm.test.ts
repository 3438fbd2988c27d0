// The output of commands on stdout and stderr, and the structure of their JSON.

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { formats } from '../../src/export/formats.ts'
import { writeProfile } from '../../src/profile/file.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { chain, profileOf, profileOfTree } from '../profile/trees.ts'
import { STATUS } from '../support/exit-codes.ts'
import { inProcess } from '../support/in-process.ts'
import { type JavaProcess, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import {
  AUTOSAVED,
  calmWarnings,
  type JsonProfile,
  jfluid,
  readProfileJson,
  recordedSoFar,
  startJfluid,
  startRecording,
  stderrLine,
} from '../support/jfluid.ts'
import { problemsOf } from '../support/schema.ts'

const packageJson = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

describe.each(newestOrAll)('jfluid commands with a JVM of JDK $version', (jdk) => {
  let java: JavaProcess
  let file: string
  let record: Awaited<ReturnType<typeof jfluid>>

  beforeAll(async () => {
    java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker'])
    await java.line(/ready/)
    file = join(temporaryDirectory(), 'p.jfluid')
    record = await jfluid(
      ...['record', String(java.pid), '--root', 'fix.Ticker.work', '--duration', '2s', '--out', file],
    )
  })

  it('ps lists the JVM with version, main class and attach permission', async () => {
    const { code, stdout, stderr } = await jfluid('ps')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^PID +USER +JAVA +UP +ATTACH, PAUSE +MAIN CLASS\n/)
    const row = stdout.split('\n').find((line) => line.startsWith(`${java.pid} `))
    expect(row).toMatch(
      new RegExp(
        `^\\d+ +\\S+ +${jdk.version}\\S* +[\\d.:]+(?: m?s)? +(?:yes\\b.*|samples only: busy) +fix\\.Ticker$`,
      ),
    )
  })

  it('record keeps the profile if the reader of its progress has exited', async () => {
    const recording = startRecording(java.pid, '--root', 'fix.Ticker.work', ...AUTOSAVED)
    await recordedSoFar(recording)
    recording.process.child.stderr?.destroy()
    recording.process.child.kill('SIGINT')
    expect((await recording.process.exit).code).toBe(0)
    expect((await readProfileJson(recording.file)).events.count).toBeGreaterThan(0)
  })

  it('record keeps its exit status if it receives signals while it ends', async () => {
    const out = join(temporaryDirectory(), 'p.jfluid')
    const root = ['--root', 'fix.Ticker.work']
    const p = startJfluid('record', String(java.pid), ...root, '--duration', '2s', '--out', out)
    await stderrLine(p, /finished after/)
    // A closed terminal may send any number of SIGHUP signals.
    const hangUps = setInterval(() => p.child.kill('SIGHUP'), 1)
    const exit = await p.exit
    clearInterval(hangUps)
    expect(exit).toEqual({ code: 0, signal: null })
    expect((await readProfileJson(out)).truncated).toBe(false)
  })

  it('ps --json prints the same data as ps', async () => {
    const { code, stdout } = await inProcess('ps', '--json')
    expect(code).toBe(0)
    const { jvms: rows } = JSON.parse(stdout) as { jvms: { pid: number }[] }
    expect(rows.find((it) => it.pid === java.pid)).toMatchObject({
      ...{ uid: process.getuid?.(), version: expect.stringContaining(String(jdk.version)) },
      ...{ mainClass: 'fix.Ticker', command: 'fix.Ticker', attachable: true, vm: expect.any(String) },
    })
  })

  it('record prints plain progress lines on stderr and nothing on stdout', () => {
    expect([record.code, record.stdout]).toEqual([0, ''])
    const said = record.stderr.split('\n')
    const order = ['attaching to', 'calibrating', 'reading classes', 'instrumenting', 'recording']
    expect(said.filter((line) => order.some((it) => line.startsWith(it)))).toHaveLength(order.length)
    expect(record.stderr).toMatch(/^root fix\.Ticker\.work: 1 method$/m)
    expect(record.stderr).toMatch(
      /^detached from \d+ in \d+ ms; restored: \d+ class(es)? verified as original, nothing of jfluid remains$/m,
    )
    expect(record.stderr).toContain(`profile written to ${file}; read it with: jfluid report ${file}`)
    expect(record.stderr).not.toMatch(/[\x00-\x09\x0b-\x1f]/)
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('report prints plain text into a pipe, one fact per line', async () => {
    const { code, stdout, stderr } = await jfluid('report', file)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^jfluid profile of fix\.Ticker$/m)
    expect(stdout).toMatch(/^root +fix\.Ticker\.work$/m)
    expect(stdout).not.toMatch(/[\x00-\x09\x0b-\x1f]/)
    expect(stdout).toMatch(/^probes +.* removed from all times$/m)
  })

  it('report --top N lists N methods', async () => {
    const { stdout } = await inProcess('report', file, '--top', '2')
    const [, table] = stdout.split(/^Hot methods.*\n.*\n|^Details$/m)
    expect(table.trim().split('\n')).toHaveLength(2)
  })

  it('report --json prints facts, N methods and the pruned tree', async () => {
    const { code, stdout } = await inProcess('report', file, '--json', '--top', '3')
    expect(code).toBe(0)
    expect(problemsOf('report', stdout)).toEqual([])
    const report = JSON.parse(stdout) as { methods: unknown[] }
    expect(report.methods).toHaveLength(3)
  })

  it('export --format json has exactly the documented structure', async () => {
    const { code, stdout, stderr } = await jfluid('export', file, '--format', 'json')
    expect([code, stderr]).toEqual([0, ''])
    const profile = JSON.parse(stdout) as JsonProfile
    expect(profile).toEqual(await readProfileJson(file)) // other tests read this format
    const { format: _, ...facts } = profile
    expect(problemsOf('report', JSON.stringify({ command: 'report', ...facts }))).toEqual([])
    expect(Object.keys(profile)).toEqual(
      expect.arrayContaining(['selection', 'detach', 'rootCalls', 'course', 'threads']),
    )
    expect(profile).toMatchObject({
      ...{ format: 'jfluid-profile', version: 1, mode: 'exact', scheme: 'b', roots: ['fix.Ticker.work'] },
      target: { pid: java.pid, mainClass: 'fix.Ticker', jdk: expect.stringContaining(String(jdk.version)) },
      truncated: false,
    })
    expect(calmWarnings(profile.warnings)).toEqual([])
    expect(profile.merged[0]).toMatchObject({ class: 'fix.Ticker', method: 'work' })
    expect(profile.events.count).toBeGreaterThan(0)
    expect(profile.instrumentation.calledMethods).toBeLessThanOrEqual(
      profile.instrumentation.instrumentedMethods,
    )
  })

  it('export --format collapsed writes one line per context, and --out writes the lines to a file', async () => {
    const out = join(temporaryDirectory(), 'p.collapsed')
    const toFile = await inProcess('export', file, '--format', 'collapsed', '--out', out)
    expect([toFile.code, toFile.stdout]).toEqual([0, ''])
    const { stdout } = await jfluid('export', file, '--format', 'collapsed')
    expect(readFileSync(out, 'utf8')).toBe(stdout)
    expect(stdout).toMatch(/^fix\.Ticker\.work(;\S+)* \d+\n/)
    for (const line of stdout.trimEnd().split('\n')) expect(line).toMatch(/^\S+ [1-9]\d*$/)
  })

  it('export writes every format and prints no messages', async () => {
    const dir = temporaryDirectory()
    const able = formats.filter(({ needsTrace }) => needsTrace !== true)
    for (const { extension } of able) {
      const out = join(dir, `p${extension}`)
      const ran = await inProcess('export', file, '--threads', '--out', out)
      expect(ran).toMatchObject({ code: 0, stdout: '', stderr: '' })
      expect(statSync(out).size).toBeGreaterThan(50)
    }
    expect(readdirSync(dir)).toHaveLength(able.length)
  })

  it('a finished recording leaves no directory, socket or agent file behind', () => {
    expect(existsSync(`/tmp/.jfluid_pid${java.pid}`)).toBe(false)
    expect(existsSync(`/tmp/.attach_pid${java.pid}`)).toBe(false)
    const maps = readFileSync(`/proc/${java.pid}/maps`, 'utf8')
    expect(maps).not.toMatch(/jfluid-[^/]+\/ring/)
  })

  it('if the JVM dies, the recording is saved and marked as incomplete', async () => {
    // Must be the last of these tests, since it kills the JVM.
    const recording = startRecording(java.pid, '--root', 'fix.Ticker.work')
    await recording.started
    await java.kill()
    await stderrLine(recording.process, /profile written to/)
    expect((await recording.process.exit).code).toBe(STATUS.jvmEnded)
    expect(recording.process.stderr()).toMatch(/^warning: the JVM ended during the recording/m)
    const profile = await readProfileJson(recording.file)
    expect(profile.truncated).toBe(true)
    expect(profile.warnings.join()).toMatch(/the JVM ended/)
  })
})

describe('commands without a JVM', () => {
  it('export selects the format by file extension and lists valid formats', async () => {
    const dir = temporaryDirectory()
    const file = join(dir, 'p.jfluid')
    await writeProfile(profileOf('main 1x 10ns ( work 2x 54ns )'), file)
    const out = join(dir, 'p.pb.gz')
    expect(await jfluid('export', file, '--out', out)).toMatchObject({ code: 0, stdout: '', stderr: '' })
    expect(gunzipSync(readFileSync(out)).toString('latin1')).toContain('com.acme.App.work')
    const ran = await inProcess('export', file)
    expect(ran).toMatchObject({ code: 64, stdout: '' })
    expect(ran.stderr).toMatch(/there is no --format\n {2}Add --format with one of: json, csv, .*markdown/)
    const full = await inProcess('export', file, '--format', 'csv', '--out', '/dev/full')
    expect(full).toMatchObject({ code: 73, stdout: '' })
    expect(full.stderr).toMatch(
      /^jfluid: cannot write \/dev\/full: no space left on the device\n {2}Choose with --out/,
    )
  })

  it('an interrupted export keeps the old file and leaves no other file', async () => {
    const dir = temporaryDirectory()
    const file = join(dir, 'p.jfluid')
    const tree = chain(20_000) // its exported text has 200 MB
    await writeProfile(profileOfTree(tree, profileOf('deep 1x 1ns').methodNames), file)
    const out = join(dir, 'p.collapsed')
    writeFileSync(out, 'old')
    const p = startJfluid('export', file, '--out', out)
    await vi.waitFor(() => expect(readdirSync(dir)).toHaveLength(3), { timeout: 30_000, interval: 5 })
    p.child.kill('SIGTERM')
    expect(await p.exit).toMatchObject({ code: 143 })
    expect(p.stderr()).toBe(`jfluid: stopped, ${out} is unchanged\n`)
    expect(readdirSync(dir).sort()).toEqual(['p.collapsed', 'p.jfluid'])
    expect(readFileSync(out, 'utf8')).toBe('old')
  })

  it('--version prints the version of the package and of its agent', async () => {
    const built = readFileSync(join(import.meta.dirname, '../../dist/agent/build-id'), 'utf8')
    const { code, stdout, stderr } = await jfluid('--version')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [version, agent] = stdout.split('\n')
    expect(version).toBe(`jfluid ${packageJson.version}`)
    expect(agent).toMatch(new RegExp(`^agent ${built}, built with javac [1-9][\\d.]+, for HotSpot 11 to 27$`))
  })

  it.each(['ps', 'attach', 'record', 'run', 'report', 'export'])(
    '%s --help prints the usage of the command',
    async (name) => {
      const { code, stdout, stderr } = await inProcess(name, '--help')
      expect([code, stderr]).toEqual([0, ''])
      expect(stdout).toMatch(new RegExp(`^Usage: jfluid ${name} `))
      expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    },
  )

  it('a reader that closes the pipe early causes no error message', async () => {
    const cli = new URL('../../dist/cli.js', import.meta.url).pathname
    const p = startProcess('sh', ['-c', `"$0" "${cli}" --help | head -1`, process.execPath])
    await p.exit
    expect(p.stdout()).toMatch(/^Usage: jfluid/)
    expect(p.stderr()).toBe('')
  })
})

it('npx jfluid in the repository runs the built version', async () => {
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const p = startProcess('npx', ['jfluid', '--version'], { cwd })
  const { code } = await p.exit
  expect([code, p.stdout().split('\n')[0]]).toEqual([0, `jfluid ${packageJson.version}`])
})
