// Code that times regions (JFluid report, section 5): a whole method, or some of its lines.
//
//     lconst_0; [push session; regionEnter]; lstore n     the variable of the region: entry time, 0 if control is outside
//     …
//   i: lload n; push session; regionEnter; lstore n       where control may enter the region
//     insn
//     …
//   o: lload n; push id; regionLeave; lstore n            where control may leave the region
//     insn
//     …
//     lload n; push id; regionExit                        before a return, and in the added handler
//
// regionEnter has no effect if control is already inside the region, and regionLeave has no effect if control is outside. So one probe
// before an instruction is correct for all paths to the instruction. A line may have several ranges of code, since javac copies the code
// of a `finally` block.

import { append } from '../base/arrays.ts'
import type { ClassFile, MethodInfo } from '../classfile/class-file.ts'
import { type Code, instructionLength, linesOf } from '../classfile/code.ts'
import { isReturn, LCONST_0, LLOAD, LSTORE } from '../classfile/opcodes.ts'
import { LONG } from '../classfile/stack-map.ts'
import { isSubroutineCall, successors } from './flow.ts'
import { accessCode, newLocalOf } from './new-local.ts'
import { idProbe } from './probe.ts'
import { NotInstrumentable } from './problem.ts'
import type { Addition, Probes } from './relocation.ts'
import type { RuntimeBlock } from './runtime.ts'

/** A range of lines. First and last line are inclusive. */
export interface LineRange {
  readonly from: number
  readonly to: number
}

export interface CodeRegion {
  /** Id of the region: from 1, below 2^22. */
  readonly id: number
  /** Lines of the region; null for the whole method. */
  readonly lines: LineRange | null
}

/** Regions to time in a method. */
export interface RegionTask {
  readonly regions: readonly CodeRegion[]
  /** Number of this session in the target's runtime. */
  readonly session: number
}

/** Maximum number of stack slots that these probes need above the method's own stack. */
export const REGION_SLOTS = 4

export function isWithin(line: number, { from, to }: LineRange): boolean {
  return line >= from && line <= to
}

/** @throws NotInstrumentable if the lines of a region contain no code */
export function timingOf(
  classFile: ClassFile,
  method: MethodInfo,
  code: Code,
  { regions, session }: RegionTask,
  { region: refs }: RuntimeBlock,
): Addition & { readonly probes: Probes } {
  if (refs === null) throw new NotInstrumentable('its class has no probes for regions')
  const local = newLocalOf(method, code, regions.length * 2)
  const lines = regions.some((it) => it.lines !== null) ? linesOf(classFile, code) : undefined
  const inserted: (readonly number[] | undefined)[] = []
  const insert = (bci: number, probe: readonly number[]) => {
    inserted[bci] = [...(inserted[bci] ?? []), ...probe]
  }
  let begin: readonly number[] = []
  const localsSet: number[] = []
  const returns: number[] = []
  const thrown: number[] = []
  regions.forEach(({ id, lines: range }, i) => {
    const load = accessCode(LLOAD, local + 2 * i)
    const store = accessCode(LSTORE, local + 2 * i)
    const enter = idProbe(session, refs.regionEnter)
    const exit = [...load, ...idProbe(id, refs.regionExit)]
    append(thrown, exit)
    if (range === null) {
      begin = [...begin, LCONST_0, ...enter, ...store]
      localsSet.push(begin.length)
      append(returns, exit)
      return
    }
    const crossings = crossingsOf(code, insideOf(code, lines, range))
    begin = [...begin, LCONST_0, ...(crossings.beginsInside ? enter : []), ...store]
    localsSet.push(begin.length)
    for (const bci of crossings.entered) insert(bci, [...load, ...enter, ...store])
    // regionLeave comes after regionEnter, since a region that consists of one return instruction is entered and left at this instruction.
    for (const bci of crossings.left) insert(bci, [...load, ...idProbe(id, refs.regionLeave), ...store])
  })
  const localTypes = regions.map(() => LONG)
  return { probes: { entry: begin, exit: returns, thrown }, inserted, local, localTypes, localsSet }
}

/** Returns an array with 1 at the bci of each instruction in the region. @throws NotInstrumentable if the region has no instruction */
function insideOf({ bytecode }: Code, lines: Int32Array | undefined, range: LineRange): Uint8Array {
  if (lines === undefined) throw new NotInstrumentable('was compiled without line numbers')
  const inside = new Uint8Array(bytecode.length)
  let found = false
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if (!isWithin(lines[bci], range)) continue
    inside[bci] = 1
    found = true
  }
  if (!found) throw new NotInstrumentable(`has no code on lines ${range.from} to ${range.to}`)
  return inside
}

function crossingsOf({ bytecode, handlers }: Code, inside: Uint8Array) {
  const { length } = bytecode
  /** Per bci: whether control may come from inside the region, and whether it may come from outside. */
  const fromInside = new Uint8Array(length)
  const fromOutside = new Uint8Array(length)
  const flow = (to: number, isInside: boolean) => {
    if (to < 0 || to >= length) return // malformed code: it is refused when branches are relocated
    if (isInside) fromInside[to] = 1
    else fromOutside[to] = 1
  }
  /** Number of the region's instructions before each bci, and number of all instructions before each bci. */
  const insideBefore = new Int32Array(length + 1)
  const allBefore = new Int32Array(length + 1)
  for (let bci = 0; bci < length; ) {
    const isInside = inside[bci] === 1
    const next = bci + instructionLength(bytecode, bci)
    for (const to of successors(bytecode, bci)) flow(to, isInside)
    // A subroutine may return to the next instruction from inside or from outside the region.
    if (isSubroutineCall(bytecode[bci])) {
      flow(next, true)
      flow(next, false)
    }
    insideBefore.fill(insideBefore[bci] + inside[bci], bci + 1, next + 1)
    allBefore.fill(allBefore[bci] + 1, bci + 1, next + 1)
    bci = next
  }
  for (const { startBci, endBci, handlerBci } of handlers) {
    const covered = insideBefore[endBci] - insideBefore[startBci]
    if (covered > 0) flow(handlerBci, true)
    if (allBefore[endBci] - allBefore[startBci] > covered) flow(handlerBci, false)
  }
  /** Instructions inside the region that may be reached from outside. */
  const entered: number[] = []
  /** Instructions outside the region that may be reached from inside, and returns inside the region. */
  const left: number[] = []
  for (let bci = 0; bci < length; bci += instructionLength(bytecode, bci)) {
    if (inside[bci] === 1) {
      if (fromOutside[bci] === 1) entered.push(bci)
      if (isReturn(bytecode[bci])) left.push(bci)
    } else if (fromInside[bci] === 1) left.push(bci)
  }
  return { beginsInside: inside[0] === 1, entered, left }
}
