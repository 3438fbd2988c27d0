// attach without --root, on a terminal: some seconds of sampling, a choice, and then the session as with --root.

import { beforeAll, expect, it } from 'vitest'
import { readThreadNames } from '../../src/attach/target-process.ts'
import { candidateNames } from '../../src/session/roots/candidate-names.ts'
import { compileShop } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid } from '../support/jfluid.ts'
import { Terminal } from '../support/terminal.ts'
import { until } from './remains.ts'

const PROCESS = 'shop.OrderService.process'

forNewestJdk((jdk) => {
  let java: JavaProcess
  beforeAll(async () => {
    java = startJava(jdk, ['-cp', await compileShop(jdk), 'shop.Main'])
    await java.line(/ready/)
    // Methods to complete are those that the JVM has compiled.
    await until(async () => (await candidateNames(java.pid)).methods.includes(PROCESS))
  })

  it('a name that is typed in part becomes the root of an ordinary session', {
    timeout: 60_000,
  }, async () => {
    const terminal = Terminal.jfluid(['attach', `${java.pid}`])
    await terminal.until((lines) => lines[0]?.includes('choose a root'))
    // Nothing of ours has come in yet.
    expect([...readThreadNames(java.pid)]).not.toContain('jfluid-agent')
    terminal.send('r')
    await terminal.until((lines) => lines[2]?.startsWith(' root: '))
    // Its letters come as one piece, as from a hand that is quick.
    terminal.send('ordersrvproc')
    await terminal.until(() => terminal.selected()?.trim() === PROCESS)
    terminal.send('\r')
    await terminal.until((lines) => lines.at(-2)?.includes('attach with root shop.OrderService.process'))
    terminal.send('\r')
    await terminal.until((lines) =>
      lines.some((it) => /^ +[\d.]+(?:ns|µs|ms|s) .*▾ shop\.OrderService\.process$/.test(it)),
    )
    terminal.send('q')
    expect((await terminal.exit).code).toBe(0)
    expect(terminal.modes()).toMatchObject({ screen: 'normal', cursorShown: true })
  })

  it('Ctrl-C is heard while the search begins', { timeout: 60_000 }, async () => {
    const terminal = Terminal.jfluid(['attach', `${java.pid}`])
    await terminal.until((lines) => lines.some((it) => it.includes(`attaching to ${java.pid}`)))
    terminal.send('\x03')
    expect((await terminal.exit).code).toBe(130)
    expect(terminal.scrollback().join('\n')).toContain(`no root was chosen; JVM ${java.pid} runs as before`)
  })

  it('names to complete are the classes that are loaded and the methods that run', async () => {
    const { classes, methods } = await candidateNames(java.pid)
    expect(classes).toEqual(expect.arrayContaining(['shop.Main', 'shop.OrderService', 'shop.Journal']))
    expect(methods).toContain('shop.Suggestions.normalise')
    expect([...classes, ...methods].filter((it) => /^java\.|\$\$Lambda|\(/.test(it))).toEqual([])
  })

  it('without a terminal a root is asked for', async () => {
    const { code, stderr } = await jfluid('attach', `${java.pid}`)
    expect(code).toBe(64)
    expect(stderr).toContain('no root method was given')
  })
})
