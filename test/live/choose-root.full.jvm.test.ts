// attach without --root on a terminal, if the user quits without a selection.

import { beforeAll, expect, it } from 'vitest'
import { compileShop } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { Terminal } from '../support/terminal.ts'

const ESC = '\x1b'

forEachJdk((jdk) => {
  let java: JavaProcess
  beforeAll(async () => {
    java = startJava(jdk, ['-cp', await compileShop(jdk), 'shop.Main'])
    await java.line(/ready/)
  })

  it('Esc in the root selection ends attach without changes', async () => {
    const terminal = Terminal.jfluid(['attach', `${java.pid}`])
    await terminal.until((lines) => lines[0]?.includes('choose a root'))
    terminal.send(ESC)
    expect((await terminal.exit).code).toBe(0)
    expect(terminal.scrollback().join('\n')).toContain(`no root was chosen; JVM ${java.pid} is unchanged`)
    expect(terminal.modes()).toMatchObject({ screen: 'normal', cursorShown: true, mouse: 'none' })
  })
})
