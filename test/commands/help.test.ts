import { expect, it } from 'vitest'
import { commandLine } from '../../src/commands/program.ts'

it.each(commandLine('1').commands.map((command) => [command.name(), command] as const))(
  'the help of %s fits a terminal of 80 columns',
  (_, command) => {
    let text = ''
    command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 80 })
    command.outputHelp()
    expect(text).toContain('Usage: jfluid')
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([])
  },
)
