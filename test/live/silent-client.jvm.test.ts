// A target thread that waits for a client without heartbeat. The state of the client's reader thread determines the duration of the wait,
// and the session continues. There is no real client: the test registers a separate process as the buffer's reader.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { withFault } from '../faults/clients-with-faults.ts'
import { compileJava, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { readProfileJson, stderrLine } from '../support/jfluid.ts'
import { gap, PULSE } from './pulse.ts'
import { threadDump, until } from './remains.ts'
import { asleep, busy, open, type Silence } from './silent-client-target.ts'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

/** Returns the shortest of several calls, since a busy machine may delay one call. */
async function fastest(silence: Silence): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let calls = 0; calls < 5; calls++) least = Math.min(least, await silence.call())
  return least
}

forNewestJdk((jdk) => {
  it('a target thread waits once for a sleeping client, for 250 ms', async () => {
    const silence = await open(jdk, asleep())
    expect(await silence.call()).toBeGreaterThan(240)
    expect(await fastest(silence)).toBeLessThan(100)
    expect((await silence.agent.status()).gaps).toBeGreaterThan(0)
    expect(silence.over).toBe(false)
  })

  it('a target thread waits for a runnable client until the client has had no processor for 2 s', async () => {
    const silence = await open(jdk, busy())
    let waited = 0
    let latest = Number.POSITIVE_INFINITY
    for (let calls = 0; latest > 100 && calls < 10; calls++) {
      latest = await silence.call()
      waited += latest
    }
    expect(latest).toBeLessThan(100)
    expect(waited).toBeGreaterThan(1900)
    await silence.agent.status()
    expect(silence.over).toBe(false)
  })

  it('a client that reads nothing for 2 s continues, missed events are reported as a gap, and no target thread waits for 2 s', async () => {
    const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Pulse': PULSE }), 'fix.Pulse', '2'])
    await java.line(/ready/)
    const dir = temporaryDirectory('jfluid-slow-')
    const [now, file] = [join(dir, 'now'), join(dir, 'p.jfluid')]
    const env = withFault('recording thread: sleeps', { FAULT_AT: now, FAULT_SLEEP_MS: '2000' })
    const options = ['--root', 'fix.Pulse.root', '--scheme', 'b', '--duration', '10m', '--out', file]
    const client = startProcess(process.execPath, [cli, 'record', String(java.pid), ...options], { env })
    await stderrLine(client, /^recording/)
    for (let i = 0; i < 2; i++) await until(async () => (await gap(java)) > 0)
    writeFileSync(now, '')
    await until(() => existsSync(`${now}-over`))
    expect(await gap(java)).toBeLessThan(1900)
    client.child.kill('SIGINT')
    expect((await client.exit).code).toBe(0)
    const { truncated, instrumentation, warnings, events } = await readProfileJson(file)
    expect(truncated).toBe(false)
    expect(events.count).toBeGreaterThan(0)
    expect(instrumentation.gaps).toBeGreaterThan(0)
    const said = /^the client read no events for (\d+) ms in total/m.exec(warnings.join('\n'))
    expect(Number(said?.[1])).toBeGreaterThan(1900)
    await java.kill()
  })

  it('a thread that waits for the client continues when the session ends, and the buffer is freed', async () => {
    const silence = await open(jdk, busy())
    const beating = setInterval(() => silence.beat(), 100) // without heartbeats, a thread would wait only 250 ms
    onTestFinished(() => clearInterval(beating))
    const call = silence.call()
    await until(async () => /"main"[^"]*at java\.lang\.JFluid1/.test(await threadDump(silence.java.pid)))
    expect((await silence.agent.restore()).released).toBe(true)
    await call
  })

  it('another process with the process id of an ended client is not mistaken for the client', async () => {
    const silence = await open(jdk, busy(), 1)
    expect(await silence.call()).toBeLessThan(1900)
    expect(await fastest(silence)).toBeLessThan(100)
  })
})

// The timeout does not depend on the JDK.
forNewestJdk((jdk) => {
  it('the session of a silent client ends 10 s after its last heartbeat', async () => {
    const silence = await open(jdk, asleep())
    const begun = performance.now()
    setTimeout(() => silence.beat(), 4_000)
    expect(await silence.ended).toBe('the client did not answer for 10 s')
    expect(performance.now() - begun).toBeGreaterThan(13_000)
  })
})
