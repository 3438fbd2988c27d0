// Resume probes at the start of a method's own (not added) handlers. They report that the method runs again after its callees.
//
// A method that ends by an exception reports its end in an added handler, except in two cases: an exception in the call of
// super() or this(), which no handler may cover, and a stack overflow in the probe itself. When a caller catches the exception, all its
// callees have ended. So a resume probe at the start of the catching handler ends their calls.
//
// A handler gets no probe if the probe would have no effect: if the guarded code makes no call (except of class initialisers, which always
// report their exit), or if the method ends soon without a call, for example by exiting a monitor and rethrowing. A handler also gets no
// probe if an exception in the handler can lead back to the same handler: on a full stack the probe throws, and this would repeat
// forever.

import { type Code, type Handler, instructionLength } from '../classfile/code.ts'
import { isCall, MONITORENTER } from '../classfile/opcodes.ts'
import { handlersAt, isSubroutineCall, successors } from './flow.ts'

/**
 * Maximum number of exception table rows that the analysis of a method visits, which takes about 50 ms. For a hostile method the analysis
 * could take forever. The handlers that are not analysed have no probes.
 */
const MAX_STEPS = 20_000_000

/** Returns an array with 1 at each bci where a resume probe is inserted; undefined if there is no such bci. */
export function resumePoints(code: Code): Uint8Array | undefined {
  if (code.handlers.length === 0) return undefined
  const points = new Uint8Array(code.bytecode.length)
  const calls = callsBefore(code.bytecode)
  const ahead = new Ahead(code)
  let found = false
  for (const { startBci, endBci, handlerBci } of code.handlers) {
    if (points[handlerBci] === 1 || calls[endBci] === calls[startBci]) continue
    if (ahead.isTired) break
    if (!ahead.matters(handlerBci) || ahead.mayReturnTo(handlerBci)) continue
    points[handlerBci] = 1
    found = true
  }
  return found ? points : undefined
}

/** Returns the number of calls before each bci. */
function callsBefore(bytecode: Uint8Array): Uint32Array {
  const before = new Uint32Array(bytecode.length + 1)
  let calls = 0
  for (let bci = 0; bci < bytecode.length; ) {
    const next = bci + instructionLength(bytecode, bci)
    if (isCall(bytecode[bci])) calls++
    before.fill(calls, bci + 1, next + 1)
    bci = next
  }
  return before
}

/** Analysis of the code after the start of a handler. */
class Ahead {
  /** Per bci: 1 if neither a call nor a loop follows. */
  readonly #calm: Uint8Array
  #steps = 0

  constructor(private readonly code: Code) {
    this.#calm = new Uint8Array(code.bytecode.length)
  }

  get isTired(): boolean {
    return this.#steps > MAX_STEPS
  }

  #at(bci: number): Iterable<Handler> {
    const { handlers } = this.code
    this.#steps += handlers.length
    return handlersAt(handlers, bci)
  }

  /** Returns whether the code from this bci to the end of the method may make a call or contains a loop. */
  matters(from: number): boolean {
    const { bytecode } = this.code
    const seen = new Set<number>()
    const pending = [from]
    for (let bci = pending.pop(); bci !== undefined; bci = pending.pop()) {
      if (bci < 0 || bci >= bytecode.length) continue // malformed code: it is refused when branches are relocated
      if (this.#calm[bci] === 1 || seen.has(bci)) continue
      seen.add(bci)
      if (isCall(bytecode[bci]) || bytecode[bci] === MONITORENTER) return true
      for (const next of successors(bytecode, bci)) {
        if (next <= bci && !isSubroutineCall(bytecode[bci])) return true // a loop
        pending.push(next)
      }
      // A subroutine may return to the instruction after its call.
      if (isSubroutineCall(bytecode[bci])) pending.push(bci + instructionLength(bytecode, bci))
      for (const { handlerBci } of this.#at(bci)) pending.push(handlerBci)
      if (this.isTired) return false
    }
    for (const bci of seen) this.#calm[bci] = 1
    return false
  }

  /** Returns whether an exception at the start of a handler can lead back to that handler if each next handler also throws at its start. */
  mayReturnTo(handler: number): boolean {
    const seen = new Set<number>()
    const pending = [handler]
    for (let bci = pending.pop(); bci !== undefined; bci = pending.pop()) {
      for (const { handlerBci } of this.#at(bci)) {
        if (handlerBci === handler || this.isTired) return true
        if (seen.has(handlerBci)) continue
        seen.add(handlerBci)
        pending.push(handlerBci)
      }
    }
    return false
  }
}
