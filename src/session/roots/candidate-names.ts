// Lists names for the completion of --root. Needs no agent, only two attach commands.
//
// Lists all loaded classes. Lists only methods that the JVM has compiled (attach/loaded-code.ts): compiled methods have run at least some
// hundred times. A root is usually one of these methods, and the user can type any other method.

import type { AttachConnection } from '../../attach/handshake.ts'
import { compiledMethods, loadedClassNames } from '../../attach/loaded-code.ts'
import { isJdkName } from '../../base/jdk-names.ts'
import { rootText } from './root-names.ts'

export interface CandidateNames {
  /** Class names such as `com.shop.Order`, without classes of the JDK. */
  readonly classes: readonly string[]
  /** Method names such as `com.shop.Order.total`, in the syntax of --root. */
  readonly methods: readonly string[]
}

/**
 * Lists the names. Pauses the JVM's threads for some milliseconds.
 *
 * @param signal  if it is aborted, the function returns the names known so far
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
