// --debug-info: when the JVM compiles code, it records the method of each instruction. Without this information, the flight recorder
// assigns a sample between two safepoints to the nearest recorded position, so an inlined method may get the self time of another method.
// The JVM flag is DebugNonSafepoints. It cannot be set directly in a running JVM, but HotSpot sets it when a compiler directive requests
// the assembly of a method (compilerDirectives.cpp). So jfluid adds a directive for a nonexistent method and removes the directive. The
// flag stays set until the JVM ends, and the JVM prints a warning to its standard error.

import { run } from '../../attach/command.ts'
import type { AttachConnection } from '../../attach/handshake.ts'
import { actingAs, userToBe } from '../../attach/target-user.ts'
import { debug } from '../../base/debug.ts'
import { EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import { DIRECTIVES, makeSessionDirectory, ownerFor } from '../doors/session-directory.ts'

const DIRECTIVE = [{ match: 'jfluid/no/Such.method', c2: { PrintAssembly: true } }]

/** Options for a JVM that jfluid starts. With them, the JVM keeps debug info from the beginning. */
export const DEBUG_INFO_OPTIONS = ['-XX:+UnlockDiagnosticVMOptions', '-XX:+DebugNonSafepoints']

/** Warning in the profile that the flag stays set. */
export const DEBUG_INFO_STAYS =
  'since --debug-info, the JVM keeps debug info of all code that it compiles, until it ends'

/** Thrown if the JVM refuses the directive, for example because it has no C2 compiler or is not HotSpot. The message quotes the JVM. */
export class DebugInfoRefused extends JfluidError {
  static sample = () => new DebugInfoRefused(4711, 'could not add the compiler directive')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint =
    'Leave --debug-info out, or start the JVM with -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints.'
  constructor(pid: number, said: string) {
    super(`JVM ${pid} cannot keep debug info of compiled code: ${said}`)
  }
}

/**
 * Sets the flag DebugNonSafepoints.
 * @throws DebugInfoRefused, NoMeetingPlace, NoSuchProcess, and the errors of `attachCommand`
 */
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
      throw new DebugInfoRefused(connection.pid, text.trim().split('\n', 1)[0] || 'the JVM gave no reason')
    }
    // This command removes the directive that was added last. If another client has added one since, the directive of jfluid stays. This is
    // harmless, since the directive matches no method.
    const removed = await run(connection, 'jcmd', ['Compiler.directives_remove'])
    if (removed.code !== 0)
      debug.attach?.(`the compiler directive of --debug-info stays: ${removed.text.trim()}`)
  } finally {
    directory.remove()
  }
}
