import { chmodSync, copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { CalledElsewhere, FurtherJvms } from '../../src/commands/further-jvms.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'

it('JVMs that a program has started are found, except the profiled JVM and programs that are not JVMs', async () => {
  const java = join(temporaryDirectory(), 'java')
  copyFileSync('/bin/sleep', java)
  chmodSync(java, 0o755)
  const start = (seconds: number): string => `'${java}' ${seconds} >/dev/null & echo started $!`
  const nested = `bash -c "'${java}' 92 >/dev/null & echo started \\$!; wait" &`
  const others = `read -r _; ${start(91)}; ${nested} sleep 1 & wait`
  const program = startProcess('bash', ['-c', `${start(90)}; ${others}`])
  onTestFinished(() => {
    // The processes outlive the shell that has started them.
    for (const [, started] of program.stdout().matchAll(/^started (\d+)$/gm)) process.kill(Number(started))
  })
  const pid = Number((await program.line(/^started/)).split(' ')[1])
  const further = new FurtherJvms(program.pid, pid)
  onTestFinished(() => further.stop())
  expect(further.names).toEqual([])
  program.send('go')
  await vi.waitUntil(() => further.names.length >= 2, { timeout: 10_000 })
  expect(further.names.toSorted()).toEqual(['91', '92'])
})

it('the hint of the error is a command that waits for the JVM that was started last', () => {
  const { hint, message } = new CalledElsewhere(
    4711,
    ['a.B.c', 'a.B.d'],
    ['fix.A', 'fix.B', 'fix.C', 'fix.D'],
  )
  expect(message).toMatch(
    /^no call of a\.B\.c, a\.B\.d was recorded in JVM 4711, .*: fix\.B, fix\.C, fix\.D$/,
  )
  expect(hint).toMatch(
    /^Add --jvm fix\.D before --, or use jfluid record --wait-for fix\.D --root a\.B\.c --root a\.B\.d --out further\.jfluid /,
  )
  expect(new CalledElsewhere(1, [], ['fix.A']).hint).toContain('--wait-for fix.A --mode sample --out')
})
