// What a JVM has loaded and compiled, without an agent, by diagnostic commands of every HotSpot since 9, carried by the attach operation
// `jcmd`. All of it is for convenience, or for a better guess: a JVM that is slow to tell is not waited for.

import { attachCommand } from './command.ts'
import type { AttachConnection } from './handshake.ts'

/** A guess costs redefinitions, not correctness. */
const GUESS_MS = 2_000
/** A list for the convenience of a user. */
const LIST_MS = 5_000

/** @returns '' if the JVM does not tell: it is too slow, or ends, which the next command will tell */
async function answerOf(
  connection: AttachConnection,
  question: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<string> {
  try {
    const options = { timeoutMs, ...(signal !== undefined && { signal }) }
    const { code, text } = await attachCommand(connection, 'jcmd', [question], options)
    return code === 0 ? text : ''
  } catch {
    return ''
  }
}

/**
 * Which methods the JVM has compiled: evidence of what runs in it, there for the asking before anything is changed. A method is compiled
 * once it has been called some 200 times, unless it was inlined wherever it is called. So the list proves that a method runs; that one is
 * missing proves nothing.
 *
 * @returns `package.Class.method(descriptor)` of each; empty if the JVM does not tell: scheme B asks then as in a JVM that is new
 */
export async function compiledMethods(
  connection: AttachConnection,
  signal?: AbortSignal,
): Promise<ReadonlySet<string>> {
  return parseCodeList(await answerOf(connection, 'Compiler.codelist', GUESS_MS, signal))
}

/**
 * How many compiled methods there are, by `Compiler.codecache`, which answers within a millisecond.
 *
 * @returns null where the JVM does not tell
 */
export async function compiledCount(connection: AttachConnection): Promise<number | null> {
  const found = /\bnmethods=(\d+)/.exec(await answerOf(connection, 'Compiler.codecache', GUESS_MS))?.[1]
  return found === undefined ? null : Number(found)
}

/** As CodeCache::print_codelist in codeCache.cpp has each that is alive: id, level, state, method, addresses. */
const COMPILED = /^\s*\d+\s+\d+\s+-?\d+\s+(\S+\(\S*\)\S+)\s+\[/

/** `<compile id> <level> <state> java.util.ArrayList.add(Ljava/lang/Object;)Z [0x…, 0x… - 0x…]` */
export function parseCodeList(text: string): ReadonlySet<string> {
  return new Set(text.split('\n').flatMap((line) => COMPILED.exec(line)?.[1] ?? []))
}

/**
 * Names of the loaded classes, by `VM.class_hierarchy`, which stops all threads while it walks them: some milliseconds where there are
 * thousands. Interfaces are asked for with -i only, and are named below those that implement them then; without it they are listed below
 * Object, once.
 *
 * @returns names as `Class.getName()` gives them, in no order; empty if the JVM does not tell
 */
export async function loadedClassNames(
  connection: AttachConnection,
  signal?: AbortSignal,
): Promise<string[]> {
  return parseClassHierarchy(await answerOf(connection, 'VM.class_hierarchy', LIST_MS, signal))
}

/** As KlassHierarchy::print_class_hierarchy in heapInspection.cpp has them: `|  |--shop.BigOrder/0x00007f… (intf)`, `java.lang.Object/null`. */
const LOADED = /^(?:[| ]*\|--)?([^/\s|]+)\/(?:null|0x[0-9a-f]+)/

/** Hidden classes and arrays are left out: they cannot be named. */
export function parseClassHierarchy(text: string): string[] {
  const names = text.split('\n').flatMap((line) => LOADED.exec(line)?.[1] ?? [])
  return [...new Set(names.filter((it) => !it.startsWith('[') && !/\+0x|\$\$Lambda/.test(it)))]
}
