// The agent that this build of jfluid carries.

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { EX_OSFILE, JfluidError } from '../base/errors.ts'

/** The package was used before `npm run build` had built the Java part. */
export class AgentNotBuilt extends JfluidError {
  readonly exitCode = EX_OSFILE
  readonly hint = 'Run npm run build; it needs a JDK 17 or newer once.'
  constructor() {
    super('the agent jar has not been built')
  }
}

export interface AgentJar {
  readonly path: string
  /** Identity of its code: an agent of another build in a JVM is not woken. */
  readonly build: string
}

/** "agent 3f2a91c0, built with javac 17.0.15", or that there is none. */
export function describeAgent(): string {
  try {
    const { build } = agentJar()
    const compiler = fileURLToPath(new URL('../../dist/agent/built-with', import.meta.url))
    const builtWith = existsSync(compiler) ? `, built with ${readFileSync(compiler, 'utf8').trim()}` : ''
    return `agent ${build}${builtWith}, for HotSpot 17 to 25`
  } catch (error) {
    if (error instanceof AgentNotBuilt) return `agent: ${error.message}. ${error.hint}`
    throw error
  }
}

/** @throws AgentNotBuilt */
export function agentJar(): AgentJar {
  const path = fileURLToPath(new URL('../../dist/agent/jfluid-agent.jar', import.meta.url))
  const id = fileURLToPath(new URL('../../dist/agent/build-id', import.meta.url))
  if (!existsSync(path) || !existsSync(id)) throw new AgentNotBuilt()
  return { path, build: readFileSync(id, 'utf8').trim() }
}
