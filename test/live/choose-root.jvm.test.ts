// attach without --root on a terminal: a few seconds of sampling, a selection, and then a session as with --root.

import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { readThreadNames } from '../../src/attach/target-process.ts'
import { TIMED } from '../../src/cct/merge-samples.ts'
import { readProfile } from '../../src/profile/file.ts'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { namesIn } from '../../src/session/roots/candidate-names.ts'
import { compileFixture, compileShop } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal } from '../support/terminal.ts'
import { until } from './remains.ts'

const PROCESS = 'shop.OrderService.process'

forNewestJdk((jdk) => {
  let java: JavaProcess
  beforeAll(async () => {
    java = startJava(jdk, ['-cp', await compileShop(jdk), 'shop.Main'])
    await java.line(/ready/)
    // Only methods that the JVM has compiled are offered for completion.
    await until(async () => (await namesIn(await openAttachSocket(java.pid))).methods.includes(PROCESS))
  })

  itInFull('a partly typed name selects the root, and a normal session starts', async () => {
    const terminal = Terminal.jfluid(['attach', `${java.pid}`])
    await terminal.until((lines) => lines[0]?.includes('choose a root'))
    // jfluid has not loaded its agent yet.
    expect([...readThreadNames(java.pid)]).not.toContain('jfluid-agent')
    terminal.send('r')
    await terminal.until((lines) => lines[2]?.startsWith(' root: '))
    // All letters are sent at once, as by a fast typist.
    terminal.send('ordersrvproc')
    await terminal.until(() => terminal.selected()?.trim() === PROCESS)
    terminal.send('\r')
    await terminal.until((lines) => lines.at(-2)?.includes('Attach with root shop.OrderService.process'))
    terminal.send('\r')
    await terminal.until((lines) =>
      lines.some((it) => /^ +[\d.]+(?:ns|µs|ms|s) .*▾ shop\.OrderService\.process$/.test(it)),
    )
    terminal.send('q')
    expect((await terminal.exit).code).toBe(0)
    expect(terminal.modes()).toMatchObject({ screen: 'normal', cursorShown: true })
  })

  it('Ctrl-C ends the command if it is pressed while the sampling for the root selection starts', async () => {
    const terminal = Terminal.jfluid(['attach', `${java.pid}`])
    await terminal.until((lines) => lines.some((it) => it.includes(`attaching to ${java.pid}`)))
    terminal.send('\x03')
    expect((await terminal.exit).code).toBe(130)
    expect(terminal.scrollback().join('\n')).toContain(`no root was chosen; JVM ${java.pid} is unchanged`)
  })

  itInFull('a JVM that ends during root selection is reported as an error', async () => {
    const other = startJava(jdk, ['-cp', await compileShop(jdk), 'shop.Main'])
    await other.line(/ready/)
    const terminal = Terminal.jfluid(['attach', `${other.pid}`])
    await terminal.until((lines) => lines[0]?.includes('choose a root'))
    process.kill(other.pid, 'SIGKILL')
    expect((await terminal.exit).code).toBe(68)
    const shown = terminal.scrollback().join('\n')
    expect(shown).toContain(`cannot attach to ${other.pid}: the process has ended`)
    expect(shown).not.toContain('is unchanged')
  })

  it('name completion offers loaded classes and running methods', async () => {
    const connection = await openAttachSocket(java.pid)
    // The session of the first test has discarded compiled code of the shop, which the JVM compiles again.
    await until(async () => (await namesIn(connection)).methods.includes('shop.Suggestions.normalise'))
    const { classes, methods } = await namesIn(connection)
    expect(classes).toEqual(expect.arrayContaining(['shop.Main', 'shop.OrderService', 'shop.Journal']))
    expect([...classes, ...methods].filter((it) => /^java\.|\$\$Lambda|\(/.test(it))).toEqual([])
  })

  itInFull(
    'attach without a root shows the answer of jfluid why above the roots, and the cursor is on the root that the answer recommends',
    async () => {
      const terminal = Terminal.jfluid(['attach', `${java.pid}`])
      const lines = await terminal.until((shown) => shown.at(-1)?.includes(' q quit') && shown)
      const cause = / of their time|only \d+ samples/
      const at = (pattern: RegExp): number => lines.findIndex((it) => pattern.test(it))
      expect(at(cause)).toBe(2)
      expect(at(/^ time of /)).toBeGreaterThan(2)
      expect(at(/^ share %/)).toBeGreaterThan(at(/^ time of /))
      terminal.send('a')
      const whole = await terminal.until((shown) => shown.at(-2)?.includes('Esc closes') && shown)
      const [, recommended] = / --root (\S+)/.exec(whole.map((it) => it.trim()).join(' ')) ?? []
      terminal.send('\x1b')
      // On a busy machine, the answer may recommend no root: then the cursor is on the first candidate, which may be found later.
      const root = await terminal.until((shown) => {
        const head = shown.findIndex((it) => it.startsWith(' share %'))
        return head >= 0 && (recommended ?? /\S+\.\S+\.\S+/.exec(shown[head + 1]!)?.[0])
      })
      terminal.send('\r')
      await terminal.until((shown) => shown.at(-2)?.includes(`Attach with root ${root}?`))
      terminal.send('\x1b')
      terminal.send('q')
      expect((await terminal.exit).code).toBe(0)
    },
  )

  itInFull(
    'attach without a terminal and without a root prints the answer of jfluid why, and requires --root',
    async () => {
      const { code, stdout, stderr } = await jfluid('attach', `${java.pid}`)
      expect(code).toBe(64)
      expect(stdout).toMatch(/^time of (?:requests|working threads) \(/m)
      // On a busy machine, the short requests of the shop may be in no dump.
      expect(stdout).toMatch(/^ share %|^No call of an application method began/m)
      expect(stderr).toContain('no root method was given')
    },
  )
})

forNewestJdk((jdk) => {
  it('methods below a selected root get their probes in the same redefinition as the root', async () => {
    // Without an agent at the start, the first redefinition discards all compiled code, and methods are timed only after a delay of 10 s.
    const agent = `-javaagent:${agentJar().path}`
    const java = startJava(jdk, [agent, '-cp', await compileFixture(jdk, 'Waiting'), 'fix.Waiting'])
    await java.line(/^ready/)
    const file = join(temporaryDirectory(), 'picked.jfluid')
    const begun = performance.now()
    const terminal = Terminal.jfluid(['attach', `${java.pid}`, '--scheme', 'adaptive', '--out', file])
    await terminal.until((lines) => lines[0]?.includes('choose a root'))
    terminal.send('r')
    await terminal.until((lines) => lines[2]?.startsWith(' root: '))
    terminal.send('fix.Waiting.request')
    // Half of the samples are inside the root. A selection needs 200 samples inside the root, or 20 after 11 s (samplesNeeded).
    const isEnough = (samples: number) =>
      samples > 480 || (samples > 100 && performance.now() - begun > 13_000)
    await terminal.until((lines) =>
      isEnough(Number(/now ([\d,]+)/.exec(lines[1] ?? '')?.[1]?.replaceAll(',', ''))),
    )
    terminal.send('\r')
    await terminal.until((lines) => lines.at(-2)?.includes('Attach with root fix.Waiting.request'))
    terminal.send('\r')
    // The rows show the number of calls and the time per call instead of "sampled". A long name is abbreviated.
    const isTimed = (line: string, method: string) =>
      new RegExp(`[\\d,]+ +[\\d.]+m?s +(?:[▸▾] )?\\S+\\.${method}`).test(line)
    await terminal.until((lines) =>
      ['query', 'update'].every((method) => lines.some((it) => isTimed(it, method))),
    )
    terminal.send('q')
    expect((await terminal.exit).code).toBe(0)

    const { merged, methodNames, stacks } = await readProfile(file)
    const timed = Array.from({ length: merged.count }, (_, node) => node)
      .filter((node) => merged.metrics.known![node] === TIMED && merged.metrics.calls![node]! > 0)
      .map((node) => methodNames[merged.method[node]!]!.method)
    expect(timed.sort()).toEqual(['query', 'request', 'update'])
    // A second pause could only belong to a second batch of methods.
    expect(stacks?.pauses).toHaveLength(1)
  })
})
