import { chmodSync, copyFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
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

it('a JVM whose command line is not readable at first gets its name later', async () => {
  const directory = temporaryDirectory()
  const [shell, java] = ['shell', 'jvm'].map((it) => join(directory, it, 'java')) as [string, string]
  for (const [from, to] of [
    ['/bin/bash', shell],
    ['/bin/sleep', java],
  ] as const) {
    mkdirSync(dirname(to))
    copyFileSync(from, to)
    chmodSync(to, 0o755)
  }
  // A shell with the name of the launcher and no main class stands for the JVM; it then executes the program with one.
  const program = startProcess('bash', ['-c', `exec '${shell}' -s`])
  const further = new FurtherJvms(program.pid, process.pid)
  onTestFinished(() => further.stop())
  await vi.waitUntil(() => further.names.length > 0, { timeout: 10_000 })
  expect(further.names).toEqual([program.pid])
  program.send(`exec '${java}' 95`)
  await vi.waitUntil(() => further.names.includes('95'), { timeout: 10_000 })
  expect(further.names).toEqual(['95'])
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
  const unnamed = new CalledElsewhere(1, [], ['fix.A', 4712])
  expect(unnamed.message).toContain(': fix.A, process 4712')
  expect(unnamed.hint).toContain('Add --jvm fix.A before --')
  expect(new CalledElsewhere(1, [], [4712]).hint).toContain('Add --jvm <main class> before --')
})
