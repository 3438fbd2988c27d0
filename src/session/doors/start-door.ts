// The way into one JVM that is started with the agent option.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { readTargetProcess } from '../../attach/target-process.ts'
import { debug } from '../../base/debug.ts'
import { type Link, LinkServer, newToken } from '../../wire/link.ts'
import { BUFFER_BYTES } from '../recorder/buffer-size.ts'
import { agentJar } from './agent-jar.ts'
import {
  launchLine,
  type OpenDoor,
  offerPipes,
  type PerfCounter,
  perfCounter,
  saidBy,
  startProblem,
  TELLS_NOTHING,
} from './door.ts'
import { type StartJar, startJar } from './jar-path.ts'
import { makePipes } from './pipes.ts'
import { ERROR, makeSessionDirectory, type SessionDirectory, SOCKET, TOKEN } from './session-directory.ts'

/** Interval between checks for the error file, which an agent writes if it could not start. */
export const ERROR_INTERVAL_MS = 100

/** The door for a JVM that will be started with `option` on its command line. */
export interface StartDoor {
  /** `-javaagent:…`; must precede all other JVM options. */
  readonly option: string
  /**
   * Waits until the agent of the started process connects.
   * @param pid id of the process, for messages
   * @returns null if `gone` is aborted first
   * @throws SecurityManagerPresent, AgentDidNotConnect  if the agent did not start
   */
  connect(pid: number, gone: AbortSignal): Promise<OpenDoor | null>
  leave(): void
}

export async function startDoor(): Promise<StartDoor> {
  const jar = startJar(agentJar())
  let dir: SessionDirectory | undefined
  try {
    dir = makeSessionDirectory(null, BUFFER_BYTES)
    debug.attach?.(`way in: -javaagent:${jar.path} at the start of a JVM; directory ${dir.path}`)
    return await startDoorIn(dir, jar)
  } catch (error) {
    dir?.remove()
    jar.leave()
    throw error
  }
}

async function startDoorIn(dir: SessionDirectory, jar: StartJar): Promise<StartDoor> {
  // All users can read a command line, but not a file in this directory.
  const token = newToken()
  fs.writeFileSync(join(dir.inside, TOKEN), token, { mode: 0o600, flag: 'wx' })
  const server = await LinkServer.listen(join(dir.inside, SOCKET), token)
  const noPipes = offerPipes(server, () => makePipes(dir.inside)) // the version of the JVM is not known yet
  return {
    option: `-javaagent:${jar.path}=${launchLine(jar, dir)}`,
    async connect(pid, gone) {
      const failed = new AbortController()
      // The file is polled, since inotify instances may be exhausted on the machine.
      const look = setInterval(() => {
        if (fs.existsSync(join(dir.inside, ERROR))) failed.abort()
      }, ERROR_INTERVAL_MS)
      try {
        // There is no time limit other than the end of the process: a `java` that is a script may take long before it starts the JVM.
        const link = await server.accept(2 ** 31 - 1, AbortSignal.any([gone, failed.signal]))
        if (link !== null) return opened(link, dir)
        const said = saidAtStart(dir)
        if (said.reason !== null) throw startProblem(said.pid ?? pid, said.reason, noPipes)
        return null
      } finally {
        clearInterval(look)
      }
    },
    leave() {
      server.close()
      dir.remove()
      jar.leave()
    },
  }
}

/**
 * Reads the error of an agent that could not start before main(). The agent adds the process id of its JVM, since the started process may
 * be a script.
 */
export function saidAtStart(dir: SessionDirectory): { pid: number | undefined; reason: string | null } {
  const text = saidBy(dir, process.geteuid!())
  const [, pid, reason] = /^JVM (\d+): ([\s\S]*)$/.exec(text ?? '') ?? []
  return pid === undefined ? { pid, reason: text } : { pid: Number(pid), reason: reason! }
}

/** Returns the door of a JVM whose agent has connected before main(). */
export function opened(link: Link, dir: SessionDirectory): OpenDoor {
  return {
    ...TELLS_NOTHING,
    link,
    pid: null,
    isStarted: true,
    dir: dir.path,
    inside: dir.inside,
    owner: undefined,
    acting: (work) => work(),
    woken: false,
    perf: startedPerfCounter,
    leave: () => dir.remove(),
  }
}

/** Like `perfCounter`, for a process that jfluid started. Its counter file appears during its start. */
function startedPerfCounter(pid: number): PerfCounter {
  const target = readTargetProcess(pid)
  return target === undefined ? { file: '', offset: 0 } : perfCounter(target)
}
