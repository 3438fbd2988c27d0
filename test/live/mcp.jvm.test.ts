// jfluid mcp with JVMs: an assistant samples and records, cancels, and ends in the middle of a recording.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { errorOf, McpClient, type ToolResult } from '../support/mcp.ts'
import { itInFull } from '../support/only-if.ts'
import { problemsOf } from '../support/schema.ts'
import { remainsOf } from './remains.ts'

/** Calls the root all the time; each call of the root calls `step` three times. */
const PROGRAM = `
package fix;
public class Asked {
  static volatile long sink;
  static void step() { for (int i = 0; i < 200; i++) sink += i; }
  static void handle() { step(); step(); step(); }
  static void unused() {}
  public static void main(String[] args) throws Exception {
    Thread worker = new Thread(() -> { for (;;) handle(); }, "worker");
    worker.setDaemon(true);
    worker.start();
    System.out.println("ready");
    System.in.read();
  }
}`

/** Progress of a recording that has events. */
const EVENTS = /[" ][1-9]\d* events /

const NODES = { 'fix.Asked.handle': 1, 'fix.Asked.step': 3 }

interface Report {
  readonly detach: { readonly restored?: unknown }
  readonly methods: readonly { readonly class: string; readonly method: string; readonly calls: number }[]
}

/** Starts the program, and an assistant that may attach. */
async function started(jdk: Jdk): Promise<{ java: JavaProcess; client: McpClient; folder: string }> {
  const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Asked.java': PROGRAM }), 'fix.Asked'])
  await java.line(/^ready/)
  const folder = temporaryDirectory()
  const client = new McpClient(['--allow-attach'], folder)
  await client.open()
  return { java, client, folder }
}

/** Starts a recording of a minute. */
async function recording(jdk: Jdk): ReturnType<typeof started> {
  const all = await started(jdk)
  all.client.startCall('record', { jvm: `${all.java.pid}`, root: ['fix.Asked.handle'], seconds: 60 })
  await all.client.progress(EVENTS)
  return all
}

function profilesIn(folder: string): string[] {
  const names = readdirSync(folder).filter((it) => it.endsWith('.jfluid'))
  return names.map((it) => join(folder, it))
}

forNewestJdk((jdk) => {
  itInFull('an assistant lists JVMs, and asks why requests take their time', async () => {
    const { java, client } = await started(jdk)
    const { structuredContent: listed } = await client.call('list')
    expect(listed!.jvms).toContainEqual(expect.objectContaining({ pid: java.pid, mainClass: 'fix.Asked' }))
    const why = await client.call('why', { jvm: `${java.pid}`, seconds: 1 })
    expect(why.content[0]!.text).toContain('fix.Asked.')
    expect(problemsOf('why', JSON.stringify(why.structuredContent))).toEqual([])
  })

  it('an assistant records a root, and reads the report of the profile', async () => {
    const { java, client, folder } = await started(jdk)
    const id = client.startCall('record', {
      ...{ jvm: `${java.pid}`, root: ['fix.Asked.handle'], scheme: 'b', seconds: 2 },
    })
    await client.progress(/attaching to/)
    await client.progress(EVENTS)
    const { structuredContent: made } = (await client.answer(id)) as ToolResult
    const { profile, notes, report } = made as { profile: string; notes: string[]; report: Report }
    expect(profilesIn(folder)).toEqual([profile])
    expect(notes.join('\n')).toMatch(
      /^detached from \d+ in \d+ ms; restored: \d+ class(?:es)? verified as original, nothing of jfluid remains$/m,
    )
    expect(problemsOf('report', JSON.stringify(report))).toEqual([])
    const calls = Object.fromEntries(report.methods.map((it) => [`${it.class}.${it.method}`, it.calls]))
    // The recording may begin and end inside a call of the root.
    for (const [name, times] of Object.entries(NODES))
      expect(Math.abs(calls[name]! - times * calls['fix.Asked.handle']!)).toBeLessThanOrEqual(3)
    const again = await client.call('report', { file: profile })
    expect(again.structuredContent).toEqual(report)
    expect(await client.close()).toBe(0)
    expect(await remainsOf(java.pid, [client.process.pid])).toEqual([])
  })

  itInFull(
    'a recording whose root is not called is an error with the path of the profile, and another call is refused meanwhile',
    async () => {
      const { java, client, folder } = await started(jdk)
      const id = client.startCall('record', { jvm: 'fix.Asked', root: ['fix.Asked.unused'], seconds: 3 })
      await client.progress(/attaching to/)
      expect(errorOf(await client.call('why', { jvm: `${java.pid}` }))).toContain(
        'the tool record is running',
      )
      const text = errorOf((await client.answer(id)) as ToolResult)
      expect(text).toContain('no root was called: fix.Asked.unused')
      expect(text).toContain(`profile written to ${profilesIn(folder)[0]}`)
      expect(errorOf(await client.call('record', { jvm: 'ssh://host/1', root: ['A.b'] }))).toContain(
        'another machine',
      )
      expect(await remainsOf(java.pid, [client.process.pid])).toEqual([])
    },
  )

  it('a cancelled recording detaches and keeps its profile, and the next recording works', async () => {
    const { java, client, folder } = await started(jdk)
    const record = { jvm: `${java.pid}`, root: ['fix.Asked.handle'], seconds: 60 }
    const id = client.startCall('record', record)
    await client.progress(EVENTS)
    client.cancel(id)
    // The next call waits for the end of the cancelled call.
    expect((await client.call('record', { ...record, seconds: 2 })).isError).toBeUndefined()
    for (const file of profilesIn(folder)) expect((await readProfile(file)).events.count).toBeGreaterThan(0)
    expect(profilesIn(folder)).toHaveLength(2)
    expect(await remainsOf(java.pid, [client.process.pid])).toEqual([])
  })

  const ways = [
    ['closes the pipe', 0],
    ['sends SIGTERM', 143],
  ] as const
  itInFull.each(ways)(
    'an assistant that %s during a recording gets its profile, and the JVM its code',
    async (end, code) => {
      const { java, client, folder } = await recording(jdk)
      if (end === 'sends SIGTERM') client.process.child.kill('SIGTERM')
      else client.process.child.stdin?.end()
      expect((await client.process.exit).code).toBe(code)
      expect((await readProfile(profilesIn(folder)[0]!)).events.count).toBeGreaterThan(0)
      expect(await remainsOf(java.pid, [client.process.pid])).toEqual([])
    },
  )

  itInFull('if jfluid mcp is killed during a recording, the JVM gets its code back', async () => {
    const { java, client } = await recording(jdk)
    await client.process.kill()
    expect(await remainsOf(java.pid, [client.process.pid])).toEqual([])
  })
})
