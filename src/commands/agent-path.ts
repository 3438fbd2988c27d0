// jfluid agent-path: prints the JVM option that loads a sleeping agent, for command lines and environments.
//
// The user may keep the option in a configuration. A JVM with the option does not start if the jar is missing or unreadable. So the command
// warns about conditions that may cause this later.

import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { EX_CONFIG, JfluidError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { agentJar } from '../session/doors/agent-jar.ts'
import { say } from './say.ts'

/** The JVM treats text after the first `=` as options of the agent, and does not start. */
export class AgentPathUnusable extends JfluidError {
  static sample = () => new AgentPathUnusable('/opt/a=b/jfluid-agent.jar')
  readonly exitCode = EX_CONFIG
  readonly hint = 'Install jfluid in a directory whose path has no =.'
  constructor(path: string) {
    super(`a JVM cannot load an agent from ${path}: the path contains =`)
  }
}

/** @param out  receives the option and nothing else */
export function agentPath(out: (text: string) => void): void {
  const { path } = agentJar()
  const option = agentOption(path)
  out(`${option}\n`)
  for (const line of pathWarnings(path)) say(`warning: ${line}`)
  if (process.stdout.isTTY === true && process.stderr.isTTY === true) {
    for (const line of waysToGive(option)) say(line)
  }
}

/** @throws AgentPathUnusable */
export function agentOption(path: string): string {
  if (path.includes('=')) throw new AgentPathUnusable(path)
  return `-javaagent:${path}`
}

/** Lists the ways to pass the option, one per line. */
export function waysToGive(option: string): string[] {
  const value = `JAVA_TOOL_OPTIONS=${variableWord(option)}`
  return [
    `on a command line   java ${shellWord(option)} -jar app.jar`,
    `for child JVMs      export ${shellWord(value)}`,
    `in a unit           Environment=${/[\s"'\\%]/.test(value) ? unitWord(value) : value}`,
    `in a container      docker run --env ${shellWord(value)} …, with the jar mounted at that path`,
  ]
}

/** Quotes the option for JAVA_TOOL_OPTIONS. The JVM splits that variable at blanks outside of quotes, and removes all quotes. */
function variableWord(option: string): string {
  if (!/[\s"']/.test(option)) return option
  return option
    .split(/(")/)
    .filter((part) => part !== '')
    .map((part) => (part === '"' ? `'"'` : /[\s']/.test(part) ? `"${part}"` : part))
    .join('')
}

/** Quotes the text for a systemd unit: with escapes, and `%%` for `%`, which begins a specifier. */
function unitWord(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`
}

const TEMPORARY = ['/tmp', '/var/tmp', '/dev/shm', '/run']

/** Returns reasons why a JVM with this option may fail to start, now or later. */
export function pathWarnings(
  path: string,
  temporary: readonly string[] = [...TEMPORARY, tmpdir()],
): string[] {
  const warnings: string[] = []
  if (path.includes('/_npx/') || temporary.some((place) => path.startsWith(`${place}/`))) {
    warnings.push(
      'this jfluid is in a temporary directory: a JVM with this option does not start after the jar has been deleted. Install jfluid with npm install -g',
    )
  }
  if (/[^\x20-\x7e]/.test(path)) {
    warnings.push(
      'the path is not plain ASCII: a JVM does not start with this option if the locale is C or POSIX, as in systemd units, cron and container images',
    )
  }
  if (/[\s"']/.test(path)) {
    warnings.push(
      `the path contains blanks or quotes and must be quoted: ${shellWord(`JAVA_TOOL_OPTIONS=${variableWord(`-javaagent:${path}`)}`)}`,
    )
  }
  const closed = closedToOthers(path)
  if (closed !== null) {
    warnings.push(`other users cannot read ${closed}: their JVMs do not start with this option`)
  }
  return warnings
}

const READ_BY_OTHERS = 0o4
const ENTERED_BY_OTHERS = 0o1

/**
 * Returns the path that denies access to users other than its owner and group: the file itself, or the nearest directory above the file.
 * Returns null if all of these paths permit the access.
 */
function closedToOthers(path: string): string | null {
  if ((statSync(path).mode & READ_BY_OTHERS) === 0) return path
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    if ((statSync(directory).mode & ENTERED_BY_OTHERS) === 0) return directory
    if (directory === dirname(directory)) return null
  }
}
