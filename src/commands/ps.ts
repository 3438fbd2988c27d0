// jfluid ps: lists the JVMs of this machine, and shows for each JVM whether jfluid can attach to it.

import { type Jvm, listJvms } from '../attach/jvms.ts'
import { maxOf } from '../base/arrays.ts'
import { jsonText } from '../profile/json-text.ts'
import { clean, cut, width } from '../profile/text.ts'

export function ps(flags: { readonly json?: boolean }, out: (text: string) => void): void {
  const jvms = listJvms()
  if (flags.json === true) {
    out(`${jsonText(jvms, 2)}\n`)
    return
  }
  out(jvms.length === 0 ? 'no JVMs found\n' : jvmTable(jvms, terminalWidth()))
}

/** Returns the width of the terminal; unlimited in a pipe. */
const terminalWidth = (): number =>
  (process.stdout.isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY

/** @param columns  maximum width of a line: main classes are cut to fit */
export function jvmTable(jvms: readonly Jvm[], columns = Number.POSITIVE_INFINITY): string {
  // Without containers, the table omits the column of containers.
  const isContained = jvms.some((j) => j.container !== undefined)
  const cells = (j: Jvm): string[] => (isContained ? [j.container ?? '-'] : [])
  const rows = jvms.map((j) =>
    [
      String(j.pid),
      j.user,
      j.version ?? '?',
      j.attachable === true ? 'yes' : `no: ${j.attachable}`,
      ...cells(j),
      j.mainClass ?? '?',
    ].map(clean),
  )
  const head = isContained ? ['CONTAINER'] : []
  const all = [['PID', 'USER', 'JAVA', 'ATTACH', ...head, 'MAIN CLASS'], ...rows]
  const widths = all[0]!.map((_, i) => maxOf(all.map((row) => width(row[i]!))))
  const padded = (cell: string, i: number, row: readonly string[]): string =>
    i === row.length - 1 ? cell : cell + ' '.repeat(widths[i]! - width(cell))
  return all.map((row) => `${cut(row.map(padded).join('  '), columns)}\n`).join('')
}
