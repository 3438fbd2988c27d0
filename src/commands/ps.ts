// jfluid ps: the JVMs of this machine, and whether each can be attached to.

import { listJvms } from '../attach/jvms.ts'

export function ps(flags: { readonly json?: boolean }, out: (text: string) => void): void {
  const jvms = listJvms()
  if (flags.json === true) {
    out(`${JSON.stringify(jvms, null, 2)}\n`)
    return
  }
  if (jvms.length === 0) {
    out('no JVMs found\n')
    return
  }
  const rows = jvms.map((j) => [
    String(j.pid),
    j.user,
    j.version ?? '?',
    j.attachable === true ? 'yes' : `no: ${j.attachable}`,
    j.mainClass ?? '?',
  ])
  const head = ['PID', 'USER', 'JAVA', 'ATTACH', 'MAIN CLASS']
  const widths = head.map((h, i) => Math.max(h.length, ...rows.map((r) => r[i]!.length)))
  for (const row of [head, ...rows]) {
    out(`${row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]!))).join('  ')}\n`)
  }
}
