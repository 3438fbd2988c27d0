// The demo on a terminal, and the demo ended by a signal. The demo in a pipe is in run.jvm.test.ts.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { startProcess } from '../support/java-process.ts'
import { stderrLine } from '../support/jfluid.ts'
import { Terminal } from '../support/terminal.ts'
import { until } from './remains.ts'

const demo = fileURLToPath(new URL('../../examples/demo.mjs', import.meta.url))

it('npm run demo stops its service when the demo receives SIGTERM', async () => {
  const p = startProcess(process.execPath, [demo], { detached: true })
  await stderrLine(p, /^recording/)
  const shop = Number(/attaching to (\d+)/.exec(p.stderr())![1])
  expect(existsSync(`/proc/${shop}`)).toBe(true)
  p.child.kill('SIGTERM')
  await p.exit // resolves after all processes have closed its stderr
  expect(p.stderr()).toMatch(new RegExp(`detached from ${shop} in`))
  await until(() => !existsSync(`/proc/${shop}`))
})

it('npm run demo shows the call tree on a terminal, and key q ends the demo and its service', async () => {
  const terminal = new Terminal([process.execPath, demo])
  const pid = await terminal.until(
    (lines) =>
      lines.some((it) => it.includes('OrderService.process')) &&
      / pid (\d+) +shop\.Main /.exec(lines[0]!)?.[1],
    55_000, // includes a build and the compilation of the shop
  )
  terminal.send('q')
  expect((await terminal.exit).code).toBe(0)
  expect(terminal.scrollback().join('\n')).toMatch(new RegExp(`^detached from ${pid} in \\d+ ms`, 'm'))
  await until(() => !existsSync(`/proc/${pid}`))
})
