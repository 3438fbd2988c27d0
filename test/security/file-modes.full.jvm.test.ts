// With any umask, only the owner can read the files that jfluid writes and maps, during and after a recording.

import { existsSync, lstatSync, readdirSync, readlinkSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { formats } from '../../src/export/formats.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { until } from '../live/remains.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { jfluid, startJfluid, stderrLine } from '../support/jfluid.ts'

const IS_ROOT = process.geteuid?.() === 0

/** Calls `work` with this umask, which the programs started by `work` inherit. */
async function withUmask<T>(umask: number, work: () => Promise<T>): Promise<T> {
  const old = process.umask(umask)
  try {
    return await work()
  } finally {
    process.umask(old)
  }
}

const permissions = ({ mode }: Stats): string => (mode & 0o7777).toString(8)

/** Returns the regular files of a session that the process has open or mapped. Only root can see mapped files. */
function openFiles(pid: number): { path: string; mode: string }[] {
  return ['fd', ...(IS_ROOT ? ['map_files'] : [])].flatMap((kind) =>
    readdirSync(`/proc/${pid}/${kind}`).flatMap((name) => {
      const file = `/proc/${pid}/${kind}/${name}`
      try {
        const path = readlinkSync(file)
        const found = statSync(file)
        return found.isFile() && /\/jfluid-\d+-/.test(path) ? [{ path, mode: permissions(found) }] : []
      } catch {
        return [] // the descriptor was closed after it was listed
      }
    }),
  )
}

function wrongModes(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    const found = lstatSync(join(dir, name))
    const wanted = found.isDirectory() ? '700' : '600'
    return permissions(found) === wanted ? [] : [`${name}: ${permissions(found)}`]
  })
}

async function ticker(jdk: Jdk): Promise<JavaProcess> {
  const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1', 'tiny'])
  await java.line(/ready/)
  return java
}

const ROOT = ['--root', 'fix.Ticker.work'] as const

forEachJdk((jdk) => {
  it.each([0, 0o022])('files of a recording are private with umask %o', { timeout: 120_000 }, (umask) =>
    withUmask(umask, async () => {
      const java = await ticker(jdk)
      const dir = temporaryDirectory()
      const out = join(dir, 'p.jfluid')
      const keeps = ['--autosave', '100ms', '--trace', '2', '--out', out]
      const client = startJfluid('record', String(java.pid), ...ROOT, ...keeps, '--duration', '10m')
      await stderrLine(client, /recording/)
      await until(() => existsSync(`${out}.autosave`))
      expect(wrongModes(dir)).toEqual([])
      // The buffer is unlinked and mapped.
      for (const pid of [client.pid, java.pid]) {
        const open = openFiles(pid)
        if (IS_ROOT) expect(open.filter(({ path }) => path.includes('/ring'))).not.toEqual([])
        expect(open.filter(({ mode }) => mode !== '600')).toEqual([])
      }
      client.child.kill('SIGINT')
      expect((await client.exit).code).toBe(0)
      for (const { name, needsTrace } of formats)
        expect(
          (await jfluid('export', out, '--format', name, '--out', join(dir, `p-${name}`))).code,
          `${name} ${needsTrace}`,
        ).toBe(0)
      const page = ['--html', join(dir, 'page.html')]
      expect((await jfluid('compare', out, out, ...page)).code).toBe(0)
      expect(readdirSync(dir).length).toBe(formats.length + 2)
      expect(wrongModes(dir)).toEqual([])
      await java.kill()
    }),
  )

  it.each([0, 0o022])(
    'with umask %o, the files of a second session in a JVM and of a sampled JVM are private',
    { timeout: 120_000 },
    (umask) =>
      withUmask(umask, async () => {
        const java = await ticker(jdk)
        const dir = temporaryDirectory()
        const record = (name: string, ...args: string[]) =>
          startJfluid('record', String(java.pid), '--out', join(dir, name), '--duration', '1s', ...args)
        expect((await record('first', ...ROOT).exit).code).toBe(0)
        // This file exists for a few milliseconds, while jfluid reads the properties of the JVM. A busy machine may hide it from the test.
        let found: Stats | undefined
        for (let tries = 0; found === undefined && tries < 5; tries++) {
          const client = record(`again-${tries}`, ...ROOT)
          while (found === undefined && client.child.exitCode === null) {
            found = lstatSync(`/tmp/.jfluid_pid${java.pid}`, { throwIfNoEntry: false })
            await setImmediate()
          }
          expect((await client.exit).code).toBe(0)
        }
        expect(found && permissions(found)).toBe('600')
        const sampling = record('samples', '--mode', 'sample', '--sampler', 'jfr')
        await stderrLine(sampling, /recording/)
        // <date and time>_<process id>
        const repository = readdirSync('/tmp').find((name) => name.endsWith(`_${java.pid}`))
        expect(repository).toBeDefined()
        expect(permissions(statSync(join('/tmp', repository!)))).toBe('700')
        expect((await sampling.exit).code).toBe(0)
        expect(wrongModes(dir)).toEqual([])
        await java.kill()
      }),
  )

  it.each([0, 0o022])(
    'with umask %o, the files of a JVM that jfluid starts and samples are private',
    { timeout: 120_000 },
    (umask) =>
      withUmask(umask, async () => {
        const classes = await compileFixture(jdk, 'Ticker')
        const dir = temporaryDirectory()
        const program = [jdk.java, '-cp', classes, 'fix.Ticker', '1', 'tiny']
        const client = startJfluid(
          'run',
          '--mode',
          'sample',
          '--record',
          join(dir, 'p.jfluid'),
          '--',
          ...program,
        )
        const mine = new RegExp(`^jfluid-\\d+-${client.pid}-`)
        const find = () =>
          ['/tmp', '/dev/shm'].flatMap((parent) =>
            readdirSync(parent)
              .filter((name) => mine.test(name))
              .map((name) => join(parent, name)),
          )
        await client.line(/ready/)
        const [session] = find()
        expect(permissions(statSync(session!))).toBe('700')
        // without samples the session would end with 83
        client.child.stdin?.write('rate 500\n')
        await client.line(/^rate/)
        client.child.stdin?.end()
        expect((await client.exit).code).toBe(0)
        expect(wrongModes(dir)).toEqual([])
        expect(find()).toEqual([])
      }),
  )
})
