// jfluid mcp: serves an assistant over the Model Context Protocol, on standard input and output.

import { UsageError } from '../base/errors.ts'
import { packageVersion } from '../base/package-root.ts'
import type { Flags } from '../options/table.ts'
import { Calls } from './mcp/calls.ts'
import { serve } from './mcp/server.ts'
import { toolsOf } from './mcp/tools.ts'
import { say } from './say.ts'
import { keepStatus, signalStatus, stopSignal } from './signals.ts'

/** The command was started by hand: a terminal sends no messages of the protocol. */
export class McpOnTerminal extends UsageError {
  static sample = () => new McpOnTerminal()
  readonly hint = 'Add the command to the configuration of an assistant: docs/assistants.md has an example.'
  constructor() {
    super('jfluid mcp is started by an assistant, and standard input is a terminal')
  }
}

/**
 * Serves until the client closes standard input or output, or a signal arrives. Running recordings are ended then, so that no JVM keeps
 * probes.
 *
 * @throws McpOnTerminal
 */
export async function mcp(flags: Flags<'mcp'>): Promise<void> {
  if (process.stdin.isTTY) throw new McpOnTerminal()
  const stop = stopSignal()
  const left = new Promise<void>((resolve) => {
    process.stdin.once('close', resolve).once('end', resolve).once('error', resolve)
    // The handler of cli.ts exits at once, and recordings must be ended first.
    process.stdout.removeAllListeners('error').on('error', () => resolve())
  })
  const calls = new Calls()
  const tools = toolsOf(flags.allowAttach === true)
  try {
    const server = await serve(tools, calls, packageVersion(), (problem) =>
      say(`warning: ${problem.message}`),
    )
    await Promise.race([left, stop.fired])
    await calls.end(stop.signal ?? 'SIGINT')
    await server.close()
  } finally {
    // Recordings that were ended before they began have set an exit code, too.
    process.exitCode = stop.signal === null ? 0 : signalStatus(stop.signal)
    keepStatus()
    stop.dispose()
  }
}
