// A client of jfluid mcp: writes and reads the messages of the Model Context Protocol by hand, as an assistant does.

import { expect } from 'vitest'
import { type JavaProcess, startProcess } from './java-process.ts'
import { cli } from './jfluid.ts'

export interface ToolResult {
  readonly isError?: boolean
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: { readonly [key: string]: unknown }
}

interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly message?: string; readonly progress?: number }
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

export class McpClient {
  readonly process: JavaProcess
  #id = 0

  /**
   * @param args  options of jfluid mcp
   * @param launcher  a launcher of jfluid; by default, the build of this checkout is started
   */
  constructor(args: readonly string[] = [], cwd?: string, launcher?: string) {
    const [program, first] = launcher === undefined ? [process.execPath, [cli]] : [launcher, []]
    this.process = startProcess(program, [...first, 'mcp', ...args], {
      ...(cwd !== undefined && { cwd }),
    })
  }

  /** Opens the connection. @returns the instructions of the server */
  async open(): Promise<string> {
    const result = await this.request('initialize', {
      ...{ protocolVersion: '2025-06-18', capabilities: {} },
      clientInfo: { name: 'test', version: '1' },
    })
    this.#send({ method: 'notifications/initialized' })
    return (result as { readonly instructions: string }).instructions
  }

  /** Starts a request. @returns its id, for `answer` and `cancel` */
  start(method: string, params: object): number {
    const id = ++this.#id
    this.#send({ id, method, params })
    return id
  }

  async answer(id: number): Promise<unknown> {
    const line = await this.process.line(new RegExp(`^\\{.*"id":${id}\\b`))
    const { result, error } = JSON.parse(line) as Message
    expect(error).toBeUndefined()
    return result
  }

  async request(method: string, params: object): Promise<unknown> {
    return await this.answer(this.start(method, params))
  }

  async call(name: string, args: object = {}): Promise<ToolResult> {
    return (await this.request('tools/call', { name, arguments: args })) as ToolResult
  }

  /** Starts a call that sends its progress. */
  startCall(name: string, args: object): number {
    return this.start('tools/call', { name, arguments: args, _meta: { progressToken: 'p' } })
  }

  cancel(id: number): void {
    this.#send({ method: 'notifications/cancelled', params: { requestId: id, reason: 'test' } })
  }

  /** Waits for a progress message. */
  async progress(pattern: RegExp): Promise<string> {
    return await this.process.line(new RegExp(`notifications/progress.*${pattern.source}`))
  }

  /** Returns all messages; fails if the standard output has anything else. */
  messages(): readonly Message[] {
    const lines = this.process.stdout().split('\n')
    expect(lines.pop()).toBe('')
    return lines.map((line) => JSON.parse(line) as Message)
  }

  /** Closes the standard input, as an assistant does that ends. @returns the exit code */
  async close(): Promise<number | null> {
    this.process.child.stdin?.end()
    return (await this.process.exit).code
  }

  #send(message: object): void {
    this.process.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }
}

/** Returns the text of a failed call. */
export function errorOf({ isError, content }: ToolResult): string {
  expect(isError).toBe(true)
  return content[0]!.text
}
