// Names of the classes that a JVM has loaded, without an agent.
//
// `jcmd <pid> VM.class_hierarchy` is a diagnostic command of every HotSpot since 9, carried by the attach operation `jcmd`
// (KlassHierarchy::print_class_hierarchy in heapInspection.cpp). It stops all threads while it walks the classes: some
// milliseconds where there are thousands. Interfaces are asked for with -i only, and are named below those that
// implement them then; without it they are listed below Object, once.
//
//   java.lang.Object/null
//   |--shop.Order/0x00007f…
//   |  |--shop.BigOrder/0x00007f… (intf)

import { attachCommand } from './command.ts'
import type { AttachConnection } from './handshake.ts'

const LINE = /^(?:[| ]*\|--)?([^/\s|]+)\/(?:null|0x[0-9a-f]+)/

/** A list for the convenience of a user: a JVM that is slow to tell is not waited for. */
const PATIENCE_MS = 5_000

/** @returns names as `Class.getName()` gives them, in no order; empty if the JVM does not tell */
export async function loadedClassNames(
  connection: AttachConnection,
  signal?: AbortSignal,
): Promise<string[]> {
  try {
    const options = { timeoutMs: PATIENCE_MS, ...(signal !== undefined && { signal }) }
    const { code, text } = await attachCommand(connection, 'jcmd', ['VM.class_hierarchy'], options)
    return code === 0 ? parseClassHierarchy(text) : []
  } catch {
    return [] // too slow, or its end, which whoever talks to it next will tell
  }
}

/** Hidden classes and arrays are left out: nobody can name them. */
export function parseClassHierarchy(text: string): string[] {
  const names = new Set<string>()
  for (const line of text.split('\n')) {
    const name = LINE.exec(line)?.[1]
    if (name !== undefined && !name.startsWith('[') && !/\+0x|\$\$Lambda/.test(name)) names.add(name)
  }
  return [...names]
}
