// Names that a user may mean by --root, for completion: without an agent, by two attach commands.
//
// Classes are those that are loaded. Of their methods the JVM tells those that it has compiled (attach/loaded-code.ts), which are the
// ones that have run a few hundred times; a root is mostly among them, and any other can be typed.

import type { AttachConnection } from '../../attach/handshake.ts'
import { compiledMethods, loadedClassNames } from '../../attach/loaded-code.ts'
import { isJdkName } from '../../base/jdk-names.ts'
import { rootText } from './root-names.ts'

export interface CandidateNames {
  /** `com.shop.Order`, without the JDK's. */
  readonly classes: readonly string[]
  /** `com.shop.Order.total`, as --root takes it. */
  readonly methods: readonly string[]
}

/**
 * Stops the JVM's threads for some milliseconds.
 *
 * @param signal  once it is aborted, what is known will do
 */
export async function namesIn(connection: AttachConnection, signal?: AbortSignal): Promise<CandidateNames> {
  const classes = (await loadedClassNames(connection, signal)).filter(isOwn).sort()
  const methods = new Set<string>()
  for (const compiled of await compiledMethods(connection, signal)) {
    const name = /^[^(]+/.exec(compiled)?.[0] ?? ''
    const dot = name.lastIndexOf('.')
    const [className, method] = [name.slice(0, dot), name.slice(dot + 1)]
    if (dot < 0 || !isOwn(className) || method === '<clinit>') continue
    methods.add(rootText({ class: className, method }))
  }
  return { classes, methods: [...methods].sort() }
}

function isOwn(className: string): boolean {
  if (/\$\$Lambda|\$Proxy\d+$|\+0x|\/0x|^jfluid\.|^java\.lang\.JFluid/.test(className)) return false
  return !isJdkName(className)
}
