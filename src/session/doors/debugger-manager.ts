// Whether a JVM has a security manager, as a debugger sees it: one that the program has set itself, too, and in a JVM that is elsewhere.

import { granted, type JdwpTarget, type ObjectId } from '../../jdwp-client/index.ts'

const SYSTEM = 'Ljava/lang/System;'
/** JDK 17 to 23. */
const FIELD = 'security'

/** @returns the name of its class; null if there is none */
export async function securityManager(jvm: JdwpTarget): Promise<string | null> {
  for (const { id } of granted(await jvm.virtualMachine.classesBySignature(SYSTEM), SYSTEM)) {
    const fields = granted(await jvm.referenceType.fields(id), `fields of ${SYSTEM}`)
    const field = fields.find(({ name }) => name === FIELD)
    if (field === undefined) continue
    const [value] = granted(await jvm.referenceType.getValues(id, [field.id]), 'its security manager')
    if (value !== undefined && 'id' in value && value.id !== null) return await classOf(jvm, value.id)
  }
  return null
}

async function classOf(jvm: JdwpTarget, object: ObjectId): Promise<string> {
  const type = granted(await jvm.objectReference.referenceType(object), 'its security manager')
  const signature = granted(await jvm.referenceType.signature(type.id), 'its security manager')
  return signature.slice(1, -1).replaceAll('/', '.')
}
