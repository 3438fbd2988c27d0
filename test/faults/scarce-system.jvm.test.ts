// A target that gets no threads, or no descriptors: before an attach, at some moment of a session, and at its end. Its
// limits are lowered from outside, so that nothing of it has to be written for this.

import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { attachCommand, loadAgent } from '../../src/attach/command.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { socketPath } from '../../src/attach/target-facts.ts'
import { readTargetProcess, readThreadNames } from '../../src/attach/target-process.ts'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { LinkServer, newToken } from '../../src/wire/link.ts'
import { until } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, oldest } from '../support/jdks.ts'
import { startJfluid, startRecording, stderrLine } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { type Limit, limitOf, NOBODY } from './limits.ts'
import { type Outcome, times, trials } from './trials.ts'
import { Witness, witnessClasses } from './witness.ts'

const IS_ROOT = process.getuid?.() === 0
const ROOT_METHOD = ['--root', 'fix.Witness.root', '--root', 'fix.Witness.fresh']

interface Scarce {
  readonly what: string
  /** As whom the target runs. */
  readonly user: typeof NOBODY | undefined
  limit(pid: number): Limit
  readonly refusal: RegExp
}

const THREADS: Scarce = {
  what: 'threads',
  user: IS_ROOT ? NOBODY : undefined,
  limit: (pid) => limitOf(pid, ['nproc', 'Max processes'], 1),
  refusal: /cannot attach to JVM \d+: it may have no more threads/,
}
const DESCRIPTORS: Scarce = {
  what: 'descriptors',
  user: undefined,
  limit: (pid) => limitOf(pid, ['nofile', 'Max open files'], 4),
  refusal: /cannot attach to JVM \d+: it may open no more files/,
}

forEachJdk((jdk) => {
  const start = async ({ user }: Scarce): Promise<Witness> => {
    if (user !== undefined) chmodSync(await witnessClasses(jdk), 0o755)
    return Witness.start(jdk, { vm: ['-Xmx64m'], threads: 1, options: { ...user, cwd: '/' } })
  }

  /** What is wrong with it once it has again what it was short of; the next attach is part of it. */
  const outcome = async (witness: Witness, profile: Outcome['profile'], ms = {}) => {
    const { harm, longest } = await witness.harm()
    const next = startRecording(witness.pid, ...ROOT_METHOD)
    witness.client(next.process.pid)
    await next.started
    await witness.load(3)
    const { truncated, warnings } = await next.stop()
    const wrong = truncated ? [`next attach: ${warnings}`] : []
    await witness.ownCode()
    harm.push(...(await witness.harm()).harm)
    const left = await witness.left()
    await witness.end()
    return { harm, wrong, profile, left, ms: { ...ms, 'stood still': longest } } satisfies Outcome
  }

  const each = FULL ? [THREADS, DESCRIPTORS] : IS_ROOT && jdk.version < 25 ? [THREADS] : [DESCRIPTORS]

  it.each(each)(
    'without $what nothing is sent to it, and it goes on',
    { timeout: 600_000 },
    async (scarce) => {
      await trials(`no ${scarce.what} at attach`, jdk, times(1, 20), async (chance) => {
        const witness = await start(scarce)
        // The first attach is the most dangerous: a JVM that gets no thread for its attach listener ends.
        const isFirst = FULL ? chance.next() < 0.5 : true
        if (!isFirst) await witness.settle()
        const limit = scarce.limit(witness.pid)
        await limit.lower()
        const file = join(temporaryDirectory(), 'p.jfluid')
        const client = startJfluid('record', String(witness.pid), '--out', file, ...ROOT_METHOD)
        witness.client(client.pid)
        const { code } = await client.exit
        const wrong: string[] = []
        if (code !== STATUS.notNow) wrong.push(`jfluid ended with ${code}`)
        if (!scarce.refusal.test(client.stderr())) wrong.push(client.stderr())
        await limit.raise()
        if (isFirst) await witness.settle()
        const after = await outcome(witness, 'none')
        return { ...after, wrong: [...wrong, ...after.wrong] }
      })
    },
  )

  it.runIf(FULL).each([THREADS, DESCRIPTORS])(
    'it may run out of $what at any moment of an attach',
    { timeout: 1_200_000 },
    async (scarce) => {
      let refused = 0
      let recorded = 0
      await trials(
        `no ${scarce.what} from some moment of an attach on`,
        jdk,
        times(1, 40),
        async (chance) => {
          const witness = await start(scarce)
          await witness.settle()
          const limit = scarce.limit(witness.pid)
          const { process: client, started, file } = startRecording(witness.pid, ...ROOT_METHOD)
          witness.client(client.pid)
          const outcomeOfStart = started.then(
            () => true,
            () => false,
          )
          await stderrLine(client, /attaching/)
          await sleep(chance.between(0, 700))
          await limit.lower()
          const begun = await outcomeOfStart
          if (begun) client.child.kill('SIGINT')
          const { code } = await client.exit
          await limit.raise()
          if (begun) recorded++
          else refused++
          const lostListener = !readThreadNames(witness.pid).has('Attach Listener')
          const profile = !begun ? 'none' : existsSync(file) ? 'kept' : 'lost'
          const after = await outcome(witness, profile)
          const wrong = [...after.wrong]
          if (code !== 0 && code !== STATUS.notNow)
            wrong.push(`the client ended with ${code}, saying:\n${client.stderr()}`)
          const left = [...after.left]
          // The listener that the JVM gave up leaves its socket open: HotSpot's, and it is one.
          const socket = left.indexOf('descriptor socket')
          if (lostListener && socket >= 0) left.splice(socket, 1)
          return { ...after, wrong, left }
        },
      )
      console.info(`JDK ${jdk.version}, ${scarce.what}: recorded ${recorded}, refused ${refused}`)
    },
  )

  it.runIf(FULL).each([THREADS, DESCRIPTORS])(
    'without $what while it is profiled: nothing is missed, and we leave',
    { timeout: 1_200_000 },
    async (scarce) => {
      await trials(`no ${scarce.what} while profiled and at detach`, jdk, times(1, 20), async (chance) => {
        const witness = await start(scarce)
        await witness.settle()
        await witness.load(1) // the program's own classes lie in files, and to open these takes descriptors
        const limit = scarce.limit(witness.pid)
        const recording = startRecording(witness.pid, ...ROOT_METHOD)
        witness.client(recording.process.pid)
        await recording.started
        await sleep(chance.between(0, 300))
        await limit.lower()
        const classes = 1 + Math.floor(chance.between(0, 20))
        await witness.load(classes) // redefinitions, for which there is no thread
        const profile = await recording.stop()
        const detached = /detached from \d+ in (\d+) ms/.exec(recording.process.stderr())?.[1]
        await limit.raise()
        const wrong: string[] = []
        const calls = profile.methods.filter((it) => it.class === 'fix.Witness$Fresh' && it.method === 'of')
        const counted = calls.reduce((sum, it) => sum + it.calls, 0)
        // On a busy machine a class may outrun its bound, which is told.
        const { gaps } = profile.instrumentation
        if (counted > classes || counted + gaps < classes)
          wrong.push(`${counted} of ${classes} calls, ${gaps} gaps`)
        if (profile.truncated) wrong.push(`truncated: ${profile.warnings}`)
        const after = await outcome(witness, 'kept', { 'to detach': Number(detached) })
        return { ...after, wrong: [...wrong, ...after.wrong] }
      })
    },
  )

  it.runIf(FULL)(
    'an agent that gets no thread leaves nothing, and the next attach works',
    { timeout: 120_000 },
    async () => {
      const witness = await start(THREADS)
      await witness.settle()
      const connection = await openAttachSocket(witness.pid)
      const dir = temporaryDirectory()
      chmodSync(dir, 0o777)
      const token = newToken()
      const server = await LinkServer.listen(join(dir, 'link'), token)
      chmodSync(join(dir, 'link'), 0o777)
      const limit = THREADS.limit(witness.pid)
      await limit.lower()
      const jar = agentJar()
      await loadAgent(connection, jar.path, `jar=${jar.path};dir=${dir};build=${jar.build};token=${token}`)
      await limit.raise()
      server.close()
      expect(readFileSync(join(dir, 'error'), 'utf8')).toContain('unable to create native thread')
      const { harm, left } = await outcome(witness, 'none')
      expect([harm, left.filter((it) => it !== `descriptor ${jar.path}`)]).toEqual([[], []])
    },
  )

  // Ours, or jcmd's: without a descriptor for a connection HotSpot's listener ends, and leaves a socket that nobody serves.
  it.runIf(FULL || jdk === oldest)('an attach listener that was lost is started again', async () => {
    const witness = await start(DESCRIPTORS)
    await witness.settle()
    const limit = DESCRIPTORS.limit(witness.pid)
    await limit.lower()
    const path = socketPath(readTargetProcess(witness.pid)!)
    // The kernel has set a descriptor aside for a connection that is waited for already: it takes two.
    const ask = () => attachCommand(path, 'properties', [], { timeoutMs: 500 })
    await ask().catch(() => {})
    await expect(ask()).rejects.toThrow()
    await until(() => !readThreadNames(witness.pid).has('Attach Listener'))
    await limit.raise()
    const recording = startRecording(witness.pid, ...ROOT_METHOD)
    await recording.started
    await recording.end()
    expect((await witness.harm()).harm).toEqual([])
    expect(witness.java.stdout()).not.toContain('Full thread dump')
    await witness.end()
  })
})
