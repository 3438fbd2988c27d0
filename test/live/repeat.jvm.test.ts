// record --repeat: one session after the other, with the JVM that replaces the first one, with a store that is not reachable for a time, and
// on a busy machine.

import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import type { SessionRequest } from '../../src/session/session-options.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { closedPort, ingested, startStore } from '../push/stores.ts'
import {
  compileJava,
  type JavaProcess,
  startJava,
  startProcess,
  temporaryDirectory,
} from '../support/java-process.ts'
import { forNewestJdk, newest } from '../support/jdks.ts'
import { cli, stderrLine } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { remainsOf } from './remains.ts'
import { nameOf, sourceOf } from './wait-for-program.ts'

/** Starts sessions of 500 ms with a pause between them. */
function repeat(cwd: string, ...args: readonly string[]): JavaProcess {
  return record(cwd, [...args, '--repeat', '2s', '--duration', '500ms'])
}

/** @param limits  environment variables that replace the limits of --repeat */
function record(cwd: string, args: readonly string[], limits: Record<string, string> = {}): JavaProcess {
  const env = { JFLUID_REPEAT_MIN_MS: '1000', ...limits }
  return startProcess(process.execPath, [cli, 'record', ...args], { cwd, env })
}

async function end(client: JavaProcess): Promise<{ code: number | null; stderr: string }> {
  client.child.kill('SIGINT')
  const { code } = await client.exit
  return { code, stderr: client.stderr() }
}

forNewestJdk((jdk) => {
  it('--repeat records one session after the other, and the JVM that replaces the first one', async () => {
    const name = nameOf('Repeated')
    const classes = await compileJava(jdk, { [`fix/${name}.java`]: sourceOf(name) })
    const env = { OTEL_SERVICE_NAME: 'shop', OTEL_RESOURCE_ATTRIBUTES: 'service.version=1.4' }
    const start = () => startJava(jdk, ['-cp', classes, `fix.${name}`], { env })
    // The store refuses the second profile, and its repetition after a second.
    const store = await startStore((response, nth) => {
      response.statusCode = nth === 2 || nth === 3 ? 503 : 200
      response.end()
    })
    const first = start()
    await first.line(/ready/)
    const cwd = temporaryDirectory('jfluid-repeat-')
    const client = repeat(cwd, name, '--root', `fix.${name}.work`, '--push', store.url, '--yes')
    await stderrLine(client, /session 1: .* root calls in .*, pushed$/m)
    await stderrLine(client, /HTTP 503.*; the profile is in jfluid-/)
    await stderrLine(client, /session 3: .*, pushed$/m)
    await stderrLine(client, /pushed jfluid-\d+-\d+T\d+Z\.jfluid, which was not pushed before/)
    expect(await remainsOf(first.pid, [client.pid])).toEqual([])
    first.child.kill('SIGKILL')
    await stderrLine(client, new RegExp(`JVM ${first.pid} has ended; waiting for a JVM 'fix.${name}'`))
    const second = start()
    await stderrLine(client, new RegExp(`JVM ${second.pid} is recorded from now on`))
    const ofFirst = client
      .stderr()
      .split('is recorded from now on')[0]!
      .match(/ session \d+: /g)!.length
    await stderrLine(client, new RegExp(`session ${ofFirst + 1}: .*, pushed$`))
    const { code, stderr } = await end(client)
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/^\d+ sessions in .*, \d+ pushed, 2 JVMs one after the other, longest pause /m)
    expect(readdirSync(cwd)).toEqual([])
    const names = store.received.map(({ url }) => url.searchParams.get('name'))
    for (const it of names) expect(it).toMatch(/^shop\{pid=\d+,mode=exact,version=1\.4,host=[^,]+,/)
    expect(names.at(-1)).toMatch(new RegExp(`^shop\\{pid=${second.pid},`))
    expect(names[0]).toMatch(/,overhead=[<>=\d%-]+,longest_pause=[<>=\dms-]+\}$/)
    const { samples } = await ingested(store.received[0]!)
    expect(samples.some(({ stack }) => stack.at(-1) === `fix.${name}.step`)).toBe(true)
    expect(await remainsOf(second.pid, [client.pid])).toEqual([])
  })

  itInFull('--repeat with a process id ends when the JVM ends', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker'])
    await java.line(/^ready/)
    const cwd = temporaryDirectory('jfluid-repeat-')
    const client = repeat(cwd, `${java.pid}`, '--root', 'fix.Ticker.work', '--out', 'p-%t.jfluid', '--yes')
    await stderrLine(client, /session 1: .*, in p-\d{8}T\d{6}Z\.jfluid$/m)
    java.child.kill('SIGKILL')
    expect((await client.exit).code, client.stderr()).toBe(74)
    expect(client.stderr()).toMatch(new RegExp(`JVM ${java.pid} has ended, after \\d sessions? in `))
    expect(readdirSync(cwd)).not.toEqual([])
    expect(readdirSync(cwd).filter((it) => !/^p-\d{8}T\d{6}Z\.jfluid$/.test(it))).toEqual([])
  })
})

/** A class whose redefinition makes the JVM create 250 classes of lambdas again, which use metaspace. */
function lambdas(name: string): string {
  const parts = Array.from({ length: 10 }, (_, part) => {
    const sums = Array.from({ length: 25 }, (_, at) => `sum += call(x -> x + ${25 * part + at});`)
    return `static void part${part}() { ${sums.join(' ')} }`
  })
  const calls = parts.map((_, part) => `part${part}();`)
  return `package fix;
    public class ${name} {
      static volatile int sum;
      static int call(java.util.function.IntUnaryOperator f) { return f.applyAsInt(1); }
      ${parts.join('\n')}
      static void work() { ${calls.join(' ')} }
      public static void main(String[] args) throws Exception {
        System.out.println("ready");
        while (true) { work(); Thread.sleep(5); }
      }
    }`
}

forNewestJdk((jdk) => {
  itInFull(
    '--repeat times only the roots, and then records nothing, when its sessions have used metaspace',
    async () => {
      const name = nameOf('Lambdas')
      const java = startJava(jdk, [
        '-cp',
        await compileJava(jdk, { [`fix/${name}.java`]: lambdas(name) }),
        `fix.${name}`,
      ])
      await java.line(/^ready/)
      const store = await startStore()
      const to = ['--push', store.url, '--yes', '--repeat', '1500ms', '--duration', '500ms']
      const client = record(
        temporaryDirectory('jfluid-repeat-'),
        [`${java.pid}`, '--root', `fix.${name}.work`, ...to],
        {
          JFLUID_REPEAT_METASPACE: `${4 << 20}`,
        },
      )
      await stderrLine(
        client,
        /nothing is recorded until the JVM has freed some of it: .* each session needs more/,
      )
      const { code, stderr } = await end(client)
      expect(code, stderr).toBe(0)
      const [before, between] = stderr.split(
        /only the roots are timed from now on: the sessions have used \d+ MiB .*/,
      )
      const pushed = (text = '') => text.match(/session \d+: .* MiB, pushed$/gm)?.length ?? 0
      const depths = store.received.map(({ url }) => /,depth=(\w+),/.exec(url.searchParams.get('name')!)?.[1])
      expect(depths, stderr).toEqual([
        ...Array(pushed(before)).fill(undefined),
        ...Array(pushed(between)).fill('roots'),
      ])
      expect(depths).toContain('roots')
      expect(await remainsOf(java.pid, [client.pid])).toEqual([])
    },
    90_000,
  )
})

it('--repeat skips sessions while threads of the JVM wait for processors', async () => {
  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ticker'), 'fix.Ticker', '6', 'tiny'])
  await java.line(/^ready/)
  execFileSync('taskset', ['-acp', '0', `${java.pid}`], { stdio: 'ignore' }) // six threads share one processor
  const store = await startStore()
  const cwd = temporaryDirectory('jfluid-repeat-')
  const client = repeat(cwd, `${java.pid}`, '--root', 'fix.Ticker.work', '--push', store.url)
  await stderrLine(client, /session skipped: threads of the JVM waited for a processor in \d+ % of the time/)
  const { code, stderr } = await end(client)
  expect(code, stderr).toBe(130)
  expect(stderr).toMatch(/^0 sessions in .*, 0 pushed, 1 skipped$/m)
  expect(store.received).toEqual([])
})

it.each<readonly [methods: number, limit: Pick<SessionRequest, 'metaspaceBytes'>]>([
  [2, {}],
  [1, { metaspaceBytes: 0 }],
])('%d methods have probes in a session with the limit %j', async (methods, limit) => {
  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ticker'), 'fix.Ticker'])
  await java.line(/^ready/)
  const shares = {
    share: 0.9,
    nested: 0.9,
    sd: 0.01,
    self: 0.9,
    innermost: 0.9,
    samples: 1000,
    branches: 1,
    computing: 0,
  }
  const session = await Session.start(await attachDoor(java.pid), {
    ...sessionOptions({ root: ['fix.Ticker.work'], scheme: 'adaptive' }),
    seen: [{ className: 'fix.Ticker', method: 'tiny', owner: 'user', ...shares }],
    ...limit,
  })
  expect((await session.status()).instrumentedMethods).toBe(methods)
  await session.detach()
  await session.close()
})

itInFull('--repeat ends with the error of the last push if the store is not reachable', async () => {
  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ticker'), 'fix.Ticker'])
  await java.line(/^ready/)
  const cwd = temporaryDirectory('jfluid-repeat-')
  const to = ['--push', await closedPort(), '--yes']
  const client = repeat(cwd, `${java.pid}`, '--root', 'fix.Ticker.work', ...to)
  await stderrLine(client, /the profile is in jfluid-/)
  const { code, stderr } = await end(client)
  expect(code, stderr).toBe(75)
  expect(stderr).toMatch(/Then: jfluid push jfluid-\S+\.jfluid --to /)
  expect(readdirSync(cwd)).toEqual([expect.stringMatching(/^jfluid-\d+-\d+T\d+Z\.jfluid$/)])
})

itInFull('SIGTERM during a push ends --repeat, and the profile stays in its file', async () => {
  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ticker'), 'fix.Ticker'])
  await java.line(/^ready/)
  let reached = (): void => {}
  const pushing = new Promise<void>((resolve) => {
    reached = resolve
  })
  const store = await startStore(() => reached()) // never answers
  const cwd = temporaryDirectory('jfluid-repeat-')
  const to = ['--push', store.url, '--yes']
  const client = repeat(cwd, `${java.pid}`, '--root', 'fix.Ticker.work', ...to)
  await pushing
  client.child.kill('SIGTERM')
  expect((await client.exit).code, client.stderr()).toBe(143)
  expect(client.stderr()).toMatch(/^1 session in .*, 0 pushed, 1 not pushed, /m)
  expect(readdirSync(cwd)).toEqual([expect.stringMatching(/^jfluid-\d+-\d+T\d+Z\.jfluid$/)])
})

itInFull('an error of the first session ends --repeat', async () => {
  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ticker'), 'fix.Ticker'])
  await java.line(/^ready/)
  const cwd = temporaryDirectory('jfluid-repeat-')
  const client = repeat(cwd, `${java.pid}`, '--root', 'fix.Ticker.wrok', '--out', cwd, '--yes')
  expect((await client.exit).code, client.stderr()).toBe(67)
  expect(readdirSync(cwd)).toEqual([])
})
