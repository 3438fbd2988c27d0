// Serves tools by the library @modelcontextprotocol/server, which is loaded only here: no other command waits for it.

import { JfluidError, NeedsConsent } from '../../base/errors.ts'
import { jsonText } from '../../profile/json-text.ts'
import { cleanLines } from '../../profile/text.ts'
import { failureOf } from '../failure.ts'
import type { Calls } from './calls.ts'
import { INSTRUCTIONS, type Tool } from './tools.ts'

/** Advice for errors whose hint names --yes. */
const NO_CONSENT = 'This consent cannot be given over MCP: ask the user to run the command in a terminal.'

/**
 * Serves one client on standard input and output.
 *
 * @param onProblem  receives errors of the connection
 */
export async function serve(
  tools: readonly Tool[],
  calls: Calls,
  version: string,
  onProblem: (problem: Error) => void,
): Promise<{ close(): Promise<void> }> {
  const [{ fromJsonSchema, McpServer }, { serveStdio }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('@modelcontextprotocol/server/stdio'),
  ])
  const serverOf = () => {
    const server = new McpServer({ name: 'jfluid', version }, { instructions: INSTRUCTIONS })
    for (const tool of tools) {
      const { name, title, description, attaches, isAlone } = tool
      const config = {
        ...{ title, description },
        inputSchema: fromJsonSchema(tool.inputSchema),
        outputSchema: fromJsonSchema(tool.outputSchema),
        annotations: {
          ...{ readOnlyHint: !attaches, destructiveHint: false },
          ...{ idempotentHint: !attaches, openWorldHint: false },
        },
      }
      server.registerTool(name, config, async (args, { mcpReq: { signal, _meta, notify } }) => {
        const token = _meta?.progressToken
        let progress = 0
        const inform = (message: string): void => {
          if (token === undefined) return
          progress++
          const params = { progressToken: token, progress, message }
          void notify({ method: 'notifications/progress', params }).catch(() => {}) // the client has left
        }
        const notes: string[] = []
        try {
          const caller = { notes, inform, cancelled: signal }
          const result = await calls.run(name, isAlone, caller, (context) => tool.call(args, context))
          return { content: [{ type: 'text', text: jsonText(result) }], structuredContent: { ...result } }
        } catch (error) {
          return { content: [{ type: 'text', text: errorText(error, notes) }], isError: true }
        }
      })
    }
    return server
  }
  return serveStdio(serverOf, { onerror: onProblem })
}

/**
 * Returns message and hint of an error, as the command prints them. An internal error is shown without its stack.
 *
 * @param notes  messages of the call, such as the path of the profile that was recorded until then
 */
export function errorText(error: unknown, notes: readonly string[]): string {
  if (!(error instanceof JfluidError)) return failureOf(error).text.split('\n', 2).join('\n')
  const lines = [error.message, error.hint, ...(error instanceof NeedsConsent ? [NO_CONSENT] : []), ...notes]
  return lines.map(cleanLines).join('\n')
}
