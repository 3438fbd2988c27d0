// Lists the loaded classes and the compiled methods of a JVM, without an agent. Uses diagnostic commands that every HotSpot since 9
// supports, sent by the attach operation `jcmd`. The results only help the user or improve a guess, so the timeouts are short.

import { attachCommand } from './command.ts'
import type { AttachConnection } from './handshake.ts'

/** Timeout of commands that improve a guess. A wrong guess costs redefinitions, not correctness. */
const GUESS_TIMEOUT_MS = 2_000
/** Timeout of lists that are a convenience for the user. */
const LIST_TIMEOUT_MS = 5_000

/** @returns '' if the JVM is too slow or has ended. If it has ended, the next command reports that */
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
 * Returns the methods that the JVM has compiled. They show which code runs, before jfluid changes anything. A method is compiled after
 * about 200 calls, unless it is inlined at all its call sites. So every listed method has run; an unlisted method may have run too.
 *
 * @returns names as `package.Class.method(descriptor)`; empty if the JVM does not answer: scheme b then treats all methods as not compiled
 */
export async function compiledMethods(
  connection: AttachConnection,
  signal?: AbortSignal,
): Promise<ReadonlySet<string>> {
  return parseCodeList(await answerOf(connection, 'Compiler.codelist', GUESS_TIMEOUT_MS, signal))
}

/**
 * Returns the number of compiled methods from `Compiler.codecache`, which answers within a millisecond.
 *
 * @returns null if the JVM does not answer
 */
export async function compiledCount(connection: AttachConnection): Promise<number | null> {
  const found = /\bnmethods=(\d+)/.exec(
    await answerOf(connection, 'Compiler.codecache', GUESS_TIMEOUT_MS),
  )?.[1]
  return found === undefined ? null : Number(found)
}

/** Line of CodeCache::print_codelist in codeCache.cpp for each live method: id, level, state, method, addresses. */
const COMPILED = /^\s*\d+\s+\d+\s+-?\d+\s+(\S+\(\S*\)\S+)\s+\[/

/** Parses lines such as `<compile id> <level> <state> java.util.ArrayList.add(Ljava/lang/Object;)Z [0x…, 0x… - 0x…]`. */
export function parseCodeList(text: string): ReadonlySet<string> {
  return new Set(text.split('\n').flatMap((line) => COMPILED.exec(line)?.[1] ?? []))
}

/**
 * Returns the names of the loaded classes from `VM.class_hierarchy`. The command stops all threads while it walks the classes: some
 * milliseconds for thousands of classes. It is sent without -i: with -i, interfaces appear below each implementing class; without -i, they
 * appear once, below Object.
 *
 * @returns names as `Class.getName()` gives them, unordered; empty if the JVM does not answer
 */
export async function loadedClassNames(
  connection: AttachConnection,
  signal?: AbortSignal,
): Promise<string[]> {
  return parseClassHierarchy(await answerOf(connection, 'VM.class_hierarchy', LIST_TIMEOUT_MS, signal))
}

/** Line of KlassHierarchy::print_class_hierarchy in heapInspection.cpp: `|  |--shop.BigOrder/0x00007f… (intf)`, `java.lang.Object/null`. */
const LOADED = /^(?:[| ]*\|--)?([^/\s|]+)\/(?:null|0x[0-9a-f]+)/

/** Omits hidden classes and arrays: a user cannot name them. */
export function parseClassHierarchy(text: string): string[] {
  const names = text.split('\n').flatMap((line) => LOADED.exec(line)?.[1] ?? [])
  return [...new Set(names.filter((it) => !it.startsWith('[') && !/\+0x|\$\$Lambda/.test(it)))]
}
