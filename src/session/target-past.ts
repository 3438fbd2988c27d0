// What the target's methods have done before we came.

import type { Past } from '../reveal/lazy.ts'
import type { MethodTarget } from '../reveal/method-ids.ts'

/** @param compiled  `package.Class.method(descriptor)` of what the JVM has compiled */
export function compiledPast(compiled: ReadonlySet<string>): Past {
  return {
    isKnown: compiled.size > 0,
    thatRan: (targets) => targets.filter((it) => compiled.has(javaName(it))),
  }
}

/** As HotSpot prints it. */
function javaName({ className, name, descriptor }: MethodTarget): string {
  return `${className.replaceAll('/', '.')}.${name}${descriptor}`
}
