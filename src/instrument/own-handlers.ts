// Handlers of a method's own: where a probe says that control is in the method again.
//
// What ends by an exception says so in a handler of ours. Some cannot: no handler may cover the call of
// super() or this(), and on a full stack there is no room for the probe. Whoever catches the exception knows
// that they are over, so a probe goes where its handlers begin.
//
// Not where it would make no difference: if nothing is called in what is guarded (but initialisers, which have
// an exit of their own), or if the method ends soon and calls nothing, as where a monitor is left and the exception passed on. Nor where the probe could
// be in its own way: on a full stack it throws itself, and if that led back to the same handler it would do so
// for ever.

import { type Code, type Handler, instructionLength } from '../classfile/code.ts'
import { isCall, MONITORENTER } from '../classfile/opcodes.ts'
import { handlersAt, isSubroutineCall, successors } from './flow.ts'

/**
 * Rows of the exception table looked at in one method: 50 ms or so. A hostile one could take for ever; from
 * there on its handlers have no probes.
 */
const MAX_STEPS = 20_000_000

/** By bci, 1 where a probe goes; undefined if there is none. */
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

/** By bci: the number of calls before it. */
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

/** What may come after a handler has begun. */
class Ahead {
  /** By bci: nothing that matters follows. */
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

  /** Can the method call something from here on, or take its time, before it ends? */
  matters(from: number): boolean {
    const { bytecode } = this.code
    const seen = new Set<number>()
    const pending = [from]
    for (let bci = pending.pop(); bci !== undefined; bci = pending.pop()) {
      if (bci < 0 || bci >= bytecode.length) continue // malformed, and refused when branches are moved
      if (this.#calm[bci] === 1 || seen.has(bci)) continue
      seen.add(bci)
      if (isCall(bytecode[bci]) || bytecode[bci] === MONITORENTER) return true
      for (const next of successors(bytecode, bci)) {
        if (next <= bci && !isSubroutineCall(bytecode[bci])) return true // a loop
        pending.push(next)
      }
      // Where the subroutine comes back, if it does.
      if (isSubroutineCall(bytecode[bci])) pending.push(bci + instructionLength(bytecode, bci))
      for (const { handlerBci } of this.#at(bci)) pending.push(handlerBci)
      if (this.isTired) return false
    }
    for (const bci of seen) this.#calm[bci] = 1
    return false
  }

  /** Can what is thrown at the start of a handler come back to it, from the handlers alone? */
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
