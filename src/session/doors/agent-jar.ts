// The agent jar in this build of jfluid.

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { EX_DATAERR, EX_OSFILE, JfluidError } from '../../base/errors.ts'
import { NEWEST_JDK, OLDEST_JDK } from '../../base/jdk-releases.ts'
import { builtFile } from '../../base/package-root.ts'

/** Thrown if the Java part is missing: `npm run build` has not been run. */
export class AgentNotBuilt extends JfluidError {
  static sample = () => new AgentNotBuilt()
  readonly exitCode = EX_OSFILE
  readonly hint = 'Build the agent, which needs a JDK 17 or newer: npm run build'
  constructor() {
    super('the agent jar has not been built')
  }
}

/** Thrown if the installation is damaged, or if only a part of it has been replaced. */
export class AgentDamaged extends JfluidError {
  static sample = () => new AgentDamaged('/opt/jfluid/dist/agent/jfluid-agent.jar')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Install jfluid again, or build it: npm run build'
  constructor(path: string) {
    super(`${path} is not the agent of this jfluid: its checksum differs`)
  }
}

export interface AgentJar {
  readonly path: string
  /** Id of the agent's code. If an agent of another build sleeps in a JVM, it is not woken. */
  readonly build: string
}

/** Returns a description like "agent 3f2a91c0, built with javac 17.0.15", or the reason why the agent is missing. */
export function describeAgent(): string {
  try {
    const { build } = agentJar()
    const compiler = fileURLToPath(builtFile('agent/built-with'))
    const builtWith = existsSync(compiler) ? `, built with ${readFileSync(compiler, 'utf8').trim()}` : ''
    return `agent ${build}${builtWith}, for HotSpot ${OLDEST_JDK} to ${NEWEST_JDK}`
  } catch (error) {
    if (error instanceof AgentNotBuilt || error instanceof AgentDamaged)
      return `agent: ${error.message}. ${error.hint}`
    throw error
  }
}

/**
 * Checks the jar against the checksum from the build. A user who can replace the jar and its checksum could also replace this source file,
 * so that user is trusted (SECURITY.md).
 * @throws AgentNotBuilt, AgentDamaged
 */
export function agentJar(folder = builtFile('agent/')): AgentJar {
  const file = (name: string) => fileURLToPath(new URL(name, folder))
  const path = file('jfluid-agent.jar')
  if (!['jfluid-agent.jar', 'build-id', 'sha256'].every((name) => existsSync(file(name))))
    throw new AgentNotBuilt()
  const sum = createHash('sha256').update(readFileSync(path)).digest('hex')
  if (sum !== readFileSync(file('sha256'), 'utf8').trim()) throw new AgentDamaged(path)
  return { path, build: readFileSync(file('build-id'), 'utf8').trim() }
}
