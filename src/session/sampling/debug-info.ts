// --debug-info: the JVM records, for each instruction of code that it compiles from then on, which method it belongs to. Without that
// the flight recorder charges a sample between two safepoints to the nearest recorded place: inlined methods get the self time of others.
//
// The flag is DebugNonSafepoints, which cannot be set in a running JVM. But HotSpot sets it when a compiler directive asks for a method's
// assembly to be printed (compilerDirectives.cpp), so such a directive is added for a method that does not exist, and removed. The
// flag stays until the JVM ends, and the JVM prints a warning to its standard error.

import { run } from '../../attach/command.ts'
import type { AttachConnection } from '../../attach/handshake.ts'
import { actingAs, userToBe } from '../../attach/target-user.ts'
import { debug } from '../../base/debug.ts'
import { EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import { DIRECTIVES, makeSessionDirectory, ownerFor } from '../doors/session-directory.ts'

const DIRECTIVE = [{ match: 'jfluid/no/Such.method', c2: { PrintAssembly: true } }]

/** A JVM that is to be started keeps it from its first moment on. */
export const DEBUG_INFO_OPTIONS = ['-XX:+UnlockDiagnosticVMOptions', '-XX:+DebugNonSafepoints']

/** What stays in the JVM, for the profile. */
export const DEBUG_INFO_STAYS =
  'the JVM keeps debug info of code that it has compiled since --debug-info asked for it, until it ends'

/** In the JVM's own words: one without C2, or of another make. */
export class DebugInfoRefused extends JfluidError {
  static sample = () => new DebugInfoRefused(4711, 'could not add the compiler directive')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Leave --debug-info out, or start the JVM with -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints.'
  constructor(pid: number, said: string) {
    super(`JVM ${pid} cannot keep debug info of compiled code: ${said}`)
  }
}

/** @throws DebugInfoRefused, NoMeetingPlace, NoSuchProcess, and what `attachCommand` throws */
export async function keepDebugInfo(connection: AttachConnection): Promise<void> {
  const { target } = connection
  const owner = ownerFor(target)
  const directory = makeSessionDirectory(target)
  try {
    const content = Buffer.from(JSON.stringify(DIRECTIVE))
    actingAs(userToBe(target), () => directory.put(DIRECTIVES, content, owner))
    if (owner !== undefined) directory.giveTo(owner)
    const add = `Compiler.directives_add ${directory.path}/${DIRECTIVES}`
    const { code, text } = await run(connection, 'jcmd', [add])
    if (code !== 0 || !/^1 compiler directives added/m.test(text)) {
      throw new DebugInfoRefused(connection.pid, text.trim().split('\n', 1)[0] || 'it said nothing')
    }
    // This removes the latest directive: ours, unless another client has added one in between. One that stays matches no method.
    const removed = await run(connection, 'jcmd', ['Compiler.directives_remove'])
    if (removed.code !== 0)
      debug.attach?.(`the compiler directive of --debug-info stays: ${removed.text.trim()}`)
  } finally {
    directory.remove()
  }
}
