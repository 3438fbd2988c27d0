// jfluid ps: lists the JVMs of this machine, and shows for each JVM whether jfluid can attach to it, and what an attach would cost.

import { type Jvm, jvmsWithFacts } from '../attach/jvms.ts'
import { maxOf } from '../base/arrays.ts'
import { commandJson } from '../profile/command-json.ts'
import { clean, cut, span, width } from '../profile/text.ts'
import { type AttachCost, attachCost, attachCostText } from '../session/doors/attach-cost.ts'

/** A JVM of the list. */
export interface ListedJvm extends Jvm {
  /** Absent if jfluid cannot attach. */
  readonly cost?: AttachCost
}

export async function ps(flags: { readonly json?: boolean }, out: (text: string) => void): Promise<void> {
  const jvms = await Promise.all(
    jvmsWithFacts().map(async ({ jvm, facts }): Promise<ListedJvm> => {
      return jvm.attachable === true ? { ...jvm, cost: await attachCost(facts) } : jvm
    }),
  )
  if (flags.json === true) {
    out(psJson(jvms))
    return
  }
  out(jvms.length === 0 ? 'no JVMs found\n' : jvmTable(jvms, terminalWidth()))
}

export function psJson(jvms: readonly ListedJvm[]): string {
  const listed = jvms.map(({ cost, ...jvm }) => (cost === undefined ? jvm : { ...jvm, attachCost: cost }))
  return commandJson('ps', { jvms: listed })
}

/** Returns the width of the terminal; unlimited in a pipe. */
const terminalWidth = (): number =>
  (process.stdout.isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY

/** @param columns  maximum width of a line: main classes are shortened to fit, and keep their simple names */
export function jvmTable(
  jvms: readonly ListedJvm[],
  columns = Number.POSITIVE_INFINITY,
  now = Date.now(),
): string {
  // Without containers, the table omits the column of containers.
  const isContained = jvms.some((j) => j.container !== undefined)
  const cells = (j: ListedJvm): string[] => (isContained ? [j.container ?? '-'] : [])
  const rows = jvms.map((j) =>
    [
      String(j.pid),
      j.user,
      j.version ?? '?',
      upText(now - j.startedAt),
      attachText(j),
      ...cells(j),
      j.mainClass ?? '?',
    ].map(clean),
  )
  const head = isContained ? ['CONTAINER'] : []
  const all = [['PID', 'USER', 'JAVA', 'UP', 'ATTACH, PAUSE', ...head, 'MAIN CLASS'], ...rows]
  const widths = all[0]!.map((_, i) => maxOf(all.map((row) => width(row[i]!))))
  const others = widths.slice(0, -1).reduce((sum, it) => sum + it + 2, 0)
  const cellOf = (cell: string, i: number, row: readonly string[]): string =>
    i === row.length - 1 ? endOf(cell, columns - others) : cell + ' '.repeat(widths[i]! - width(cell))
  return all.map((row) => `${cut(row.map(cellOf).join('  '), columns)}\n`).join('')
}

/** Cuts the start of a name that is longer than `cells`, if there is room for some characters. */
function endOf(name: string, cells: number): string {
  let end = name
  while (width(end) > Math.max(cells, MIN_NAME_CELLS) - 1) end = end.slice(1)
  return width(name) <= cells || end === name ? name : `…${end}`
}

/** Minimum width of a shortened main class. */
const MIN_NAME_CELLS = 8

function attachText({ attachable, cost }: ListedJvm): string {
  if (attachable !== true) return `no: ${attachable}`
  return cost === undefined ? 'yes' : attachCostText(cost)
}

/** Returns the time since the start of a JVM: "3:07", "1:02:03", "12 days". */
function upText(ms: number): string {
  const days = Math.floor(ms / 86_400_000)
  return days >= 2 ? `${days} days` : span(ms)
}
