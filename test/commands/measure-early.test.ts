import { afterEach, expect, it, vi } from 'vitest'
import { takeEarly } from '../../src/attach/processors.ts'
import { commandLine } from '../../src/commands/program.ts'

afterEach(() => {
  vi.useRealTimers()
})

it.each(['attach', 'record'])('%s begins to measure the processor use of its process', async (command) => {
  vi.useFakeTimers({ toFake: ['performance'] }) // the early measurement does not become too old while the command is loaded
  const own = `${process.pid}` // not a JVM, so the command ends with an error
  await expect(
    commandLine('0').parseAsync(['node', 'jfluid', command, own, '--root', 'a.B.c']),
  ).rejects.toThrow()
  expect(takeEarly(process.pid)?.pid).toBe(process.pid)
})
