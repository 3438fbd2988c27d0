// Determines which methods of the target have run before the session.

import type { Past } from '../reveal/lazy.ts'
import type { MethodTarget } from '../reveal/method-ids.ts'

/** @param compiled  methods that the JVM has compiled, as `package.Class.method(descriptor)` */
export function compiledPast(compiled: ReadonlySet<string>): Past {
  return {
    isKnown: compiled.size > 0,
    thatRan: (targets) => targets.filter((it) => compiled.has(javaName(it))),
  }
}

/** Returns the method name in the format that HotSpot prints. */
function javaName({ className, name, descriptor }: MethodTarget): string {
  return `${className.replaceAll('/', '.')}.${name}${descriptor}`
}
