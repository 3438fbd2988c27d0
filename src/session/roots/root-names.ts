// What names of methods tell: what --root takes, what may be a root, whose code it is.

import { isJdkName } from '../../base/jdk-names.ts'
import type { MethodName } from '../../cct/tree.ts'

/** What `--root` takes. */
export function rootText({ class: className, method }: MethodName): string {
  return `${className}.${method === '<init>' ? 'new' : method}`
}

/** Whether a class belongs to the JDK, as far as its name and its loader tell. */
export function isOfJdk({ class: className, loader }: MethodName): boolean {
  if (loader === 'bootstrap' || loader === 'platform') return true
  return isJdkName(className)
}

/** Whether a method has code of its own, in a class that can be changed, as far as names tell. */
export function isUsableRoot(name: MethodName): boolean {
  if (name.class === '' || name.method === '<clinit>') return false
  // Hidden classes (lambdas, proxies of the JVM), those of reflection, proxies that a framework makes, and what is ours.
  return !/\$\$Lambda|\/0x|\+0x|\$Proxy\d+$|\$\$(?:FastClass|Enhancer|SpringCGLIB)|\$quarkusrestinvoker\$|_(?:ClientProxy|Subclass)$|^jfluid\./.test(
    name.class,
  )
}
