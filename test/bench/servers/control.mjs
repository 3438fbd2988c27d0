// @ts-check
// The control of the servers' bench (option --control): instead of jfluid, an agent redefines classes with their own bytes, at about the
// times at which an earlier session of jfluid redefined these classes. Any profiler that redefines them has at least this effect.
// Only for sessions of scheme adaptive whose rows did not begin again: the second redefinition is a second before the rows begin.

import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Minimum time for which jfluid counts calls after the second redefinition, before the rows begin. */
const COUNTING_MS = 1000
const MANIFEST = 'Agent-Class: Redefine\nCan-Retransform-Classes: true\n'

/**
 * @typedef {object} Redefinition
 * @property {number} afterMs  since the start of the client
 * @property {readonly string[]} classes
 */

/**
 * Returns the redefinitions of a session: the classes of its roots, then the classes of all timed rows, and at the end both for the
 * restoration. If the session had more than two redefinitions, the later ones are in the second.
 *
 * @param {Pick<import('./life.mjs').SessionMarks, 'begin' | 'ending' | 'exit'>} marks
 * @param {Pick<import('./analysis.mjs').ProfileJson, 'startedAt' | 'merged' | 'stacks'>} profile
 * @returns {readonly Redefinition[]}
 */
export function redefinitionsOf({ begin, ending, exit }, { startedAt, merged, stacks }) {
  const roots = new Set(merged.map((it) => it.class))
  const timed = new Set(roots)
  const left = [...merged]
  for (let row = left.pop(); row !== undefined; row = left.pop()) {
    if (row.known === 'timed') timed.add(row.class)
    left.push(...row.children)
  }
  const classes = [...timed]
  const started = Date.parse(startedAt) - begin
  const second = started + (stacks?.rowsFromMs ?? 0) - COUNTING_MS
  return [
    { afterMs: started, classes: [...roots] },
    ...((stacks?.pauses.length ?? 0) > 1 ? [{ afterMs: second, classes }] : []),
    { afterMs: (ending ?? exit) - begin, classes },
  ]
}

/**
 * Reads the first session of one life.
 *
 * @param {string} life  directory of the life
 * @param {string} cli
 * @returns {Promise<readonly Redefinition[]>}
 */
export async function readRedefinitions(life, cli) {
  const file = join(life, 'session-1.jfluid')
  if (!existsSync(file))
    throw new Error(`${file} does not exist: --control needs the --out of a run of the same cell`)
  const { stdout } = await promisify(execFile)(process.execPath, [cli, 'export', file, '--format', 'json'], {
    maxBuffer: 1 << 28,
  })
  return redefinitionsOf(JSON.parse(readFileSync(join(life, 'session-1.json'), 'utf8')), JSON.parse(stdout))
}

/**
 * Compiles the agent.
 *
 * @param {{javac: string}} jdk
 * @param {string} directory
 * @returns {Promise<string>} path of its jar
 */
export async function buildAgent(jdk, directory) {
  const run = promisify(execFile)
  const [jar, manifest] = [join(directory, 'redefine.jar'), join(directory, 'manifest')]
  writeFileSync(manifest, MANIFEST)
  await run(jdk.javac, ['-d', directory, join(import.meta.dirname, 'redefine/Redefine.java')])
  await run(jdk.javac.replace(/javac$/, 'jar'), ['cfm', jar, manifest, '-C', directory, 'Redefine.class'])
  return jar
}

/**
 * Writes the names of the classes, and returns the command.
 *
 * @param {{java: string}} jdk
 * @param {string} jar
 * @param {number} pid
 * @param {readonly Redefinition[]} redefinitions
 * @param {number} begin  start of the session, epoch ms
 * @returns {readonly string[]}
 */
export function controlCommand({ java }, jar, pid, redefinitions, begin) {
  const steps = redefinitions.map(({ afterMs, classes }, index) => {
    const file = `${jar}.${index}`
    writeFileSync(file, classes.join('\n'))
    return `${Math.round(begin + afterMs)}:${file}`
  })
  return [java, '-XX:TieredStopAtLevel=1', '-cp', jar, 'Redefine', jar, String(pid), ...steps]
}
