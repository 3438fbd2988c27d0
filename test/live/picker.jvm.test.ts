// A JVM is selected from a list on a terminal. Without a terminal a process id is required.

import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { Terminal } from '../support/terminal.ts'

forNewestJdk((jdk) => {
  it('a partly typed name selects the JVM, and the command continues with this JVM', async () => {
    const classes = await compileFixture(jdk, 'Ticker')
    const java = startJava(jdk, ['-cp', classes, 'fix.Ticker'])
    await java.line(/^ready/)
    const terminal = Terminal.jfluid(['attach', '--root', 'fix.Ticker.work'])
    await terminal.until((lines) => lines.some((it) => it.startsWith('Which JVM?')))
    terminal.send(`${java.pid}`)
    await terminal.until((lines) => lines.some((it) => it.startsWith(`> ${java.pid} `)))
    terminal.send('\r')
    await terminal.until((lines) => lines.some((it) => /▾ fix\.Ticker\.work$/.test(it)))
    // The list of JVMs has been removed from the screen.
    expect(terminal.scrollback().join('\n')).not.toContain('Which JVM?')
    terminal.send('q')
    expect((await terminal.exit).code).toBe(0)
    expect(terminal.modes()).toMatchObject({ screen: 'normal', cursorShown: true, mouse: 'none' })
  })

  const leaving = [
    ['Ctrl-C', '\x03'],
    ['Esc', '\x1b'],
  ] as const
  it.each(FULL ? leaving : leaving.slice(0, 1))(
    '%s closes the JVM list and restores the terminal',
    async (_, key) => {
      // The terminal must echo input again, as it did before.
      const terminal = Terminal.jfluid(['doctor'], { after: 'stty -a | grep -q " echo " && echo echoes' })
      await terminal.until((lines) => lines.some((it) => it.startsWith('Which JVM?')))
      terminal.send(key)
      expect((await terminal.exit).code).toBe(68)
      const shown = terminal.scrollback().join('\n')
      expect(shown).toContain('jfluid: no JVM was chosen')
      expect(shown).toContain('echoes')
      expect(terminal.modes()).toMatchObject({ screen: 'normal', cursorShown: true })
    },
  )

  it('record without a terminal requires a process id', async () => {
    const { code, stderr } = await jfluid('record', '--root', 'a.B.c', '--out', '/dev/null')
    expect(code).toBe(64)
    expect(stderr).toContain('no process id was given')
  })
})
