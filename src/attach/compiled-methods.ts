// Which methods the JVM has compiled: evidence of what runs in it, there for the asking before anything is changed.
//
// `jcmd <pid> Compiler.codelist` is a diagnostic command of every HotSpot since 9, carried by the attach operation `jcmd`
// (CodeCache::print_codelist in codeCache.cpp). One line for each compiled method that is alive:
//
//   <compile id> <level> <state> java.util.ArrayList.add(Ljava/lang/Object;)Z [0x…, 0x… - 0x…]
//
// A method is compiled once it has been called some 200 times, unless it was inlined wherever it is called. So the list
// proves that a method runs; that one is missing proves nothing.

import { attachCommand } from './command.ts'
import type { AttachConnection } from './handshake.ts'

const LINE = /^\s*\d+\s+\d+\s+-?\d+\s+(\S+\(\S*\)\S+)\s+\[/

/** A guess costs redefinitions, not correctness: a JVM that is slow to tell is not waited for. */
const PATIENCE_MS = 2_000

/**
 * @returns `package.Class.method(descriptor)` of each; empty if the JVM does not tell
 */
export async function compiledMethods(
  connection: AttachConnection,
  signal?: AbortSignal,
): Promise<ReadonlySet<string>> {
  try {
    const options = { timeoutMs: PATIENCE_MS, ...(signal !== undefined && { signal }) }
    const { code, text } = await attachCommand(connection, 'jcmd', ['Compiler.codelist'], options)
    return code === 0 ? parseCodeList(text) : new Set()
  } catch {
    // Too slow, or its end, which whoever talks to it next will tell: scheme B asks then as in a JVM that is new.
    return new Set()
  }
}

/**
 * How many compiled methods there are, by `Compiler.codecache`, which answers within a millisecond.
 *
 * @returns null where the JVM does not tell
 */
export async function compiledCount(connection: AttachConnection): Promise<number | null> {
  try {
    const { code, text } = await attachCommand(connection, 'jcmd', ['Compiler.codecache'], {
      timeoutMs: PATIENCE_MS,
    })
    const found = code === 0 ? /\bnmethods=(\d+)/.exec(text)?.[1] : undefined
    return found === undefined ? null : Number(found)
  } catch {
    return null // it is a figure for the user, and the JVM's end will be told by others
  }
}

export function parseCodeList(text: string): ReadonlySet<string> {
  const methods = new Set<string>()
  for (const line of text.split('\n')) {
    const method = LINE.exec(line)?.[1]
    if (method !== undefined) methods.add(method)
  }
  return methods
}
