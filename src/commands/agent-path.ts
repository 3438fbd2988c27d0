// jfluid agent-path: the option that has a JVM start with the agent asleep in it, for command lines and environments.
//
// The option stays where it was written down, and a JVM that finds no jar there, or may not read it, does not start. So whatever
// may come to that is told.

import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { EX_CONFIG, JfluidError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { agentJar } from '../session/doors/agent-jar.ts'
import { say } from './say.ts'

/** The JVM takes what is behind the first `=` for options of the agent, and does not start. */
export class AgentPathUnusable extends JfluidError {
  static sample = () => new AgentPathUnusable('/opt/a=b/jfluid-agent.jar')
  readonly exitCode = EX_CONFIG
  readonly hint = 'Install jfluid in a directory that has no = in its name.'
  constructor(path: string) {
    super(`no JVM can be told of ${path}: it has a =`)
  }
}

/** @param out  takes the option, and nothing else */
export function agentPath(out: (text: string) => void): void {
  const { path } = agentJar()
  const option = agentOption(path)
  out(`${option}\n`)
  for (const line of doubtsAbout(path)) say(`warning: ${line}`)
  if (process.stdout.isTTY === true && process.stderr.isTTY === true) {
    for (const line of waysToGive(option)) say(line)
  }
}

/** @throws AgentPathUnusable */
export function agentOption(path: string): string {
  if (path.includes('=')) throw new AgentPathUnusable(path)
  return `-javaagent:${path}`
}

/** How the option is given, one a line. */
export function waysToGive(option: string): string[] {
  const value = `JAVA_TOOL_OPTIONS=${variableWord(option)}`
  return [
    `on a command line   java ${shellWord(option)} -jar app.jar`,
    `for all JVMs below  export ${shellWord(value)}`,
    `in a unit           Environment=${/[\s"'\\%]/.test(value) ? unitWord(value) : value}`,
    `in a container      docker run --env ${shellWord(value)} …, with the jar mounted at that path`,
  ]
}

/** As one word of JAVA_TOOL_OPTIONS: the JVM splits that at blanks, but between quotes, which it takes away wherever they stand. */
function variableWord(option: string): string {
  if (!/[\s"']/.test(option)) return option
  return option
    .split(/(")/)
    .filter((part) => part !== '')
    .map((part) => (part === '"' ? `'"'` : /[\s']/.test(part) ? `"${part}"` : part))
    .join('')
}

/** As systemd reads it: with escapes, and `%` for what it fills in. */
function unitWord(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`
}

const TEMPORARY = ['/tmp', '/var/tmp', '/dev/shm', '/run']

/** Why JVMs that are started with it might not start, or not for long. */
export function doubtsAbout(path: string, temporary: readonly string[] = [...TEMPORARY, tmpdir()]): string[] {
  const doubts: string[] = []
  if (path.includes('/_npx/') || temporary.some((place) => path.startsWith(`${place}/`))) {
    doubts.push(
      'this jfluid is in a temporary place: a JVM does not start once the jar is gone. npm install -g',
    )
  }
  if (/[^\x20-\x7e]/.test(path)) {
    doubts.push(
      'the path is not plain ASCII: a JVM does not start with it where the locale is C or POSIX, as in units, cron and images',
    )
  }
  if (/[\s"']/.test(path)) {
    doubts.push(
      `the path has blanks or quotes, and has to be quoted: ${shellWord(`JAVA_TOOL_OPTIONS=${variableWord(`-javaagent:${path}`)}`)}`,
    )
  }
  const closed = closedToOthers(path)
  if (closed !== null) {
    doubts.push(`${closed} is closed to other users: their JVMs do not start with this option`)
  }
  return doubts
}

const READ_BY_OTHERS = 0o4
const ENTERED_BY_OTHERS = 0o1

/** @returns the file, or the nearest directory above it, that users may not use who are neither its owner nor of its group */
function closedToOthers(path: string): string | null {
  if ((statSync(path).mode & READ_BY_OTHERS) === 0) return path
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    if ((statSync(directory).mode & ENTERED_BY_OTHERS) === 0) return directory
    if (directory === dirname(directory)) return null
  }
}
