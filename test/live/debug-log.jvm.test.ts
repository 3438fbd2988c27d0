// The content of the log with JFLUID_DEBUG=all in a whole session, and secrets that it must not contain.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { TOPICS } from '../../src/base/debug.ts'
import { attach } from '../../src/index.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { cli, stderrLine } from '../support/jfluid.ts'
import { machine, startClient } from './proxy.ts'

/** Tokens of all agents and buffers of the sessions in this file. */
const tokens = vi.hoisted(() => [] as string[])
vi.mock(import('../../src/wire/link.ts'), async (original) => {
  const link = await original()
  const newToken = () => {
    const token = link.newToken()
    tokens.push(token)
    return token
  }
  return { ...link, newToken }
})

const PASSWORD = 'hunter2-hunter2'
const LINE = /^ *\d+\.\d{3} {2}(\w+) +(\S.*)$/

async function knownTree(jdk: Jdk) {
  const classes = await compileFixture(jdk, 'KnownTree')
  const java = startJava(jdk, [`-Dstore.pw=${PASSWORD}`, '-cp', classes, 'fix.KnownTree', '4', '50'])
  await java.line(/ready/)
  return java
}

/** Reads the log and expects each line to have the log's format. */
function readLog(path: string): { topic: string; text: string }[] {
  expect(statSync(path).mode & 0o777).toBe(0o600)
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, topic, text] = LINE.exec(line) ?? [line]
      expect(['jfluid', ...Object.keys(TOPICS)]).toContain(topic)
      return { topic: topic!, text: text! }
    })
}

/** Also rejects `[hidden]` in the log: it would mean that a secret was passed to the log and only a pattern removed it. */
function expectNoSecrets(path: string, ...secrets: string[]): void {
  const log = readFileSync(path, 'utf8')
  for (const secret of [PASSWORD, '[hidden]', ...secrets]) expect(log).not.toContain(secret)
}

/** Directory of the log of all sessions in this process. */
const directory = temporaryDirectory('jfluid-debug-')

forNewestJdk((jdk) => {
  it('the debug log contains each step of a session and no token', async () => {
    vi.stubEnv('JFLUID_DEBUG', 'all')
    vi.stubEnv('JFLUID_DEBUG_DIR', directory)
    onTestFinished(() => void vi.unstubAllEnvs())
    const path = join(directory, `jfluid-debug-${process.pid}.log`)
    const before = existsSync(path) ? readLog(path).length : 0
    const java = await knownTree(jdk)
    const attachment = await attach(java.pid, { root: 'fix.KnownTree.task' })
    java.send('run 1')
    await java.line(/done/)
    await attachment.detach()

    const lines = readLog(path).slice(before)
    const said = (topic: string, pattern: RegExp) =>
      expect(lines.filter((it) => it.topic === topic).map(({ text }) => text)).toContainEqual(
        expect.stringMatching(pattern),
      )
    said('attach', /^SIGQUIT sent$/)
    said('attach', /^way in: attach; directory \//)
    said('attach', /^agent of an earlier session: none/)
    said('attach', /^command load: code 0, \d+ bytes after [\d.]+ ms$/)
    said('attach', new RegExp(`^agent \\w{12} in process ${java.pid}: .* ${jdk.version}`))
    said('attach', /^prepared: t_I [\d.]+, t_O [\d.]+ ticks/)
    // Only scheme adaptive measures the cost of probes while it records.
    expect(lines.filter(({ text }) => text.startsWith('probes: '))).toEqual([])
    said('wire', /^→ #1 hello, \d+ bytes$/)
    said('wire', /^← #1 after [\d.]+ ms: hello, \d+ bytes: \[\(\d+ characters\)/)
    said('wire', /^→ #\d+ configure, .* false$/)
    said('wire', /^→ #\d+ redefineMethods, \d+ bytes: \[\[\d+, \d+, \(\d+ bytes\)\]/)
    said('reveal', /^mode exact, scheme b, .* fix\.KnownTree\.task matches 1$/)
    said('reveal', /^roots, scheme b, [\d.]+ ms: 1 methods: fix\.KnownTree\.task/)
    said('reveal', /^(first call of|\d+ methods that will run with|look-ahead behind).*: \d+ methods: fix\./)
    said('redefine', /^\d+ classes, \d+ bodies, 1 calls: [\d.]+ ms, stopped for [\d.]+ ms$/)
    said('recorder', /^reads 512 chunks, (mapped|as a file)$/)
    said('recorder', /^finished: [1-9]\d* events, [1-9]\d* contexts, \d+ gaps$/)
    said('end', /^detach begins$/)
    said('end', /^restored: \d+ classes, 0 refused/)
    said('end', /^detached: /)
    said('end', /^proof, .*: (\d+) of \1 classes \([1-9]\d* methods\) have their own code; different: none/)

    expect(tokens.length).toBeGreaterThan(0)
    expectNoSecrets(path, ...tokens)
  })
})

forNewestJdk((jdk) => {
  it('jfluid run tells the agent that it has started the JVM, so that threads wait longer for answers', async () => {
    const classes = await compileFixture(jdk, 'KnownTree')
    const dir = temporaryDirectory('jfluid-debug-')
    const args = ['run', '--root', 'fix.KnownTree.task', '--record', join(dir, 'p.jfluid')]
    const program = [jdk.java, '-cp', classes, 'fix.KnownTree', '4', '50']
    const client = startProcess(process.execPath, [cli, ...args, '--', ...program], {
      env: { JFLUID_DEBUG: 'wire', JFLUID_DEBUG_DIR: dir },
    })
    await client.line(/ready/)
    client.send('run 1')
    await client.line(/done/)
    client.send('quit')
    expect((await client.exit).code, client.stderr()).toBe(0)
    const log = readLog(join(dir, `jfluid-debug-${client.pid}.log`)).map(({ text }) => text)
    expect(log).toContainEqual(expect.stringMatching(/^→ #\d+ configure, .* true$/))
  })

  it('both ends of a proxy session write a log, and neither log contains the key', async () => {
    const dir = temporaryDirectory('jfluid-debug-')
    const env = { JFLUID_DEBUG: 'all', JFLUID_DEBUG_DIR: dir }
    const java = await knownTree(jdk)
    const listener = startProcess(process.execPath, [cli, 'proxy', '--listen', '0'], { env })
    await stderrLine(listener, /KEY=/)
    const key = /KEY=(\S+)/.exec(listener.stderr())![1]!
    const port = /listening at 127\.0\.0\.1:(\d+)/.exec(listener.stderr())![1]
    const address = `tcp://127.0.0.1:${port}/${java.pid}`
    const args = ['record', address, '--root', 'fix.KnownTree.task', '--duration', '10m']
    const there = { env: { ...env, JFLUID_PROXY_KEY: key } }
    const client = startClient(there, ...args, '--out', join(dir, 'p.jfluid'))
    await stderrLine(client, /root fix.KnownTree.task: 1 method/)
    java.send('run 1')
    await java.line(/done/)
    client.child.kill('SIGINT')
    expect((await client.exit).code, client.stderr()).toBe(0)
    listener.child.kill('SIGTERM')
    await listener.exit

    const logOf = (pid: number) => join(dir, `jfluid-debug-${pid}.log`)
    const ofClient = readLog(logOf(client.pid)).map(({ text }) => text)
    expect(ofClient).toContainEqual(expect.stringMatching(/^connecting to tcp:/))
    expect(ofClient).toContainEqual(expect.stringMatching(/^← #1 \w+ after [\d.]+ ms$/))
    expect(ofClient.at(-1)).toBe('ends with 0')
    const ofProxy = readLog(logOf(listener.pid)).map(({ text }) => text)
    expect(ofProxy).toContain('a client has connected with the key; there are 1')
    expect(ofProxy).toContainEqual(expect.stringMatching(/^→ #\d+ redefineMethods/))
    expect(ofProxy).toContain('a session ends; there are 0')
    for (const { pid } of [client, listener]) expectNoSecrets(logOf(pid), key)
  })

  it('the session process started by ssh writes its log into the folder of the proxy', async () => {
    const dir = temporaryDirectory('jfluid-debug-')
    const { env } = machine()
    const java = await knownTree(jdk)
    const JFLUID_PROXY_COMMAND = `env JFLUID_DEBUG=remote ${env.JFLUID_PROXY_COMMAND}`
    const args = ['record', `ssh://there/${java.pid}`, '--root', 'fix.KnownTree.task', '--duration', '100ms']
    const client = startProcess(process.execPath, [cli, ...args, '--out', 'p.jfluid'], {
      ...{ cwd: dir, env: { ...env, JFLUID_PROXY_COMMAND } },
    })
    expect((await client.exit).code, client.stderr()).toBe(STATUS.rootNeverCalled)
    const logs = readdirSync(dir).filter((name) => name.endsWith('.log'))
    expect(logs).toHaveLength(2)
    const texts = logs.flatMap((name) => readLog(join(dir, name))).map(({ text }) => text)
    expect(texts).toContain('a session begins; there are 1')
  })
})
