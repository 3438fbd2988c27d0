// A target that can create no more threads or open no more files, from some moment of an attach, of a recording or of an agent start.

import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { loadAgent } from '../../src/attach/command.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { readThreadNames } from '../../src/attach/target-process.ts'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { LinkServer, newToken } from '../../src/wire/link.ts'
import { STATUS } from '../support/exit-codes.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { startRecording, stderrLine } from '../support/jfluid.ts'
import { DESCRIPTORS, outcome, ROOT_METHOD, start, THREADS } from './scarce-system-limits.ts'
import { times, trials } from './trials.ts'

forEachJdk((jdk) => {
  it.each([THREADS, DESCRIPTORS])(
    'a target that runs out of $what during an attach is not harmed',
    { timeout: 1_200_000 },
    async (scarce) => {
      let refused = 0
      let recorded = 0
      await trials(`no ${scarce.what} from some moment of an attach on`, jdk, times(40), async (chance) => {
        const witness = await start(jdk, scarce)
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
        if (begun) {
          expect(await witness.rate(), 'root calls per second').toBeGreaterThan(0)
          client.child.kill('SIGINT')
        }
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
        // HotSpot has abandoned its listener without closing the socket, so one descriptor of HotSpot remains.
        const socket = left.indexOf('descriptor socket')
        if (lostListener && socket >= 0) left.splice(socket, 1)
        return { ...after, wrong, left }
      })
      console.info(`JDK ${jdk.version}, ${scarce.what}: recorded ${recorded}, refused ${refused}`)
    },
  )

  it.each([THREADS, DESCRIPTORS])(
    'if the target runs out of $what during a recording, no event is lost, and the agent detaches',
    { timeout: 1_200_000 },
    async (scarce) => {
      await trials(`no ${scarce.what} while profiled and at detach`, jdk, times(20), async (chance) => {
        const witness = await start(jdk, scarce)
        await witness.settle()
        await witness.load(1) // the program's own classes are in files, and opening files needs descriptors
        const limit = scarce.limit(witness.pid)
        const recording = startRecording(witness.pid, ...ROOT_METHOD)
        witness.client(recording.process.pid)
        await recording.started
        await sleep(chance.between(0, 300))
        await limit.lower()
        const classes = 1 + Math.floor(chance.between(0, 20))
        await witness.load(classes) // causes redefinitions that get no thread
        const profile = await recording.stop()
        const detached = /detached from \d+ in (\d+) ms/.exec(recording.process.stderr())?.[1]
        await limit.raise()
        const wrong: string[] = []
        const calls = profile.methods.filter((it) => it.class === 'fix.Witness$Fresh' && it.method === 'of')
        const counted = calls.reduce((sum, it) => sum + it.calls, 0)
        // On a busy machine a class load may exceed its timeout, which is reported.
        const { gaps } = profile.instrumentation
        if (counted > classes || counted + gaps < classes)
          wrong.push(`${counted} of ${classes} calls, ${gaps} gaps`)
        if (profile.truncated) wrong.push(`truncated: ${profile.warnings}`)
        const after = await outcome(witness, 'kept', { 'to detach': Number(detached) })
        return { ...after, wrong: [...wrong, ...after.wrong] }
      })
    },
  )

  it('an agent that cannot create a thread leaves nothing behind, and the next attach works', {
    timeout: 120_000,
  }, async () => {
    const witness = await start(jdk, THREADS)
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
  })
})
