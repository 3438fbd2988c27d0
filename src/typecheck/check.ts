// Verifies a method's types (JVMS 4.10), against the frames of its StackMapTable, or by inference if it has none.
// HotSpot does not verify classes of the boot loader, not even redefined ones. There it accepts code that pops an empty stack, and the JVM
// crashes when the code runs. So every body for such a class must pass this check before it is sent. The rules are those of HotSpot's
// ClassVerifier (verifier.cpp), which differ from the specification in a few points; the test `hotspot.jvm.test.ts` compares the verdicts.
// The check is not recursive. Its time grows with the code size and the number of frames; a method that exceeds the budget is `unchecked`.
// The check returns a result for any bytes, and never throws.

import { ACC_STATIC } from '../classfile/access.ts'
import { type ClassFile, ClassFormatProblem, MAJOR_6, type MethodInfo } from '../classfile/class-file.ts'
import { forEachInstruction, parseCode } from '../classfile/code.ts'
import { readFrames, STACK_MAP_TABLE } from './frames.ts'
import { guardsOf } from './handlers.ts'
import { InferredFrames } from './inferred.ts'
import { Instructions } from './instructions.ts'
import { Members } from './members.ts'
import { TypeProblem, Unchecked } from './problem.ts'
import { PromisedFrames } from './promised.ts'
import { State } from './state.ts'
import { type Hierarchy, type Type, TypeTable, UNINITIALIZED_THIS } from './types.ts'

export type { Hierarchy }

/** Maximum number of slot comparisons per method. Compiled code of 64 KiB needs a few hundred thousand comparisons. */
const MAX_STEPS = 20_000_000

export type TypeCheck =
  /** The code is valid if all assumptions hold. An assumption is a sentence about classes that the hierarchy does not know. */
  | { readonly ok: true; readonly assumptions: ReadonlySet<string> }
  | { readonly ok: false; readonly bci: number; readonly reason: string }
  /** The check has no verdict on the method; `unchecked` is the reason. */
  | { readonly ok: undefined; readonly unchecked: string }

/** A hierarchy that knows no classes: every fact about another class becomes an assumption. */
export const KNOWS_NOTHING: Hierarchy = { isAssignable: () => undefined }

/** Checks methods of one class. Caches the parts of the constant pool that it has read. */
export class TypeChecker {
  readonly #types: TypeTable
  readonly #members: Members

  constructor(
    private readonly classFile: ClassFile,
    hierarchy: Hierarchy,
  ) {
    this.#types = new TypeTable(classFile, hierarchy)
    this.#members = new Members(classFile, this.#types)
  }

  /**
   * Returns the verdict that HotSpot's verifier would give. For class files of version 50 or later, frames are checked. For earlier
   * versions, types are inferred. For version 50, types are also inferred if the check of the frames fails.
   *
   * @param allowed  permitted assumptions; the check fails if another assumption is needed. Undefined permits all
   */
  check(method: MethodInfo, allowed?: ReadonlySet<string>): TypeCheck {
    const { major } = this.classFile
    if (major < MAJOR_6) return this.infer(method, allowed)
    const checked = this.#check(method, allowed, false)
    return checked.ok === false && major === MAJOR_6 ? this.infer(method, allowed) : checked
  }

  /** Checks code by inference of types, and ignores its frames. Used for code whose frames are missing. `allowed` as in `check`. */
  infer(method: MethodInfo, allowed?: ReadonlySet<string>): TypeCheck {
    return this.#check(method, allowed, true)
  }

  /** Returns false if the method has no code, or no readable frames. */
  hasFrames(method: MethodInfo): boolean {
    if (method.code === undefined) return false
    try {
      return parseCode(this.classFile, method).attributes.some(({ name }) => name === STACK_MAP_TABLE)
    } catch (problem) {
      if (problem instanceof ClassFormatProblem) return false
      throw problem
    }
  }

  #check(method: MethodInfo, allowed: ReadonlySet<string> | undefined, inferred: boolean): TypeCheck {
    if (method.code === undefined) return { ok: undefined, unchecked: 'it has no code' }
    try {
      this.#types.assumptions = new Set()
      this.#types.allowed = allowed
      this.#checkCode(method, inferred)
      return { ok: true, assumptions: this.#types.assumptions }
    } catch (problem) {
      if (problem instanceof Unchecked) return { ok: undefined, unchecked: problem.message }
      if (problem instanceof TypeProblem) return { ok: false, bci: problem.bci, reason: problem.message }
      if (problem instanceof ClassFormatProblem) return { ok: false, bci: 0, reason: problem.message }
      throw problem
    }
  }

  /** @param inferred  whether to infer the types and ignore a StackMapTable */
  #checkCode(method: MethodInfo, inferred: boolean): void {
    const { classFile } = this
    const types = this.#types
    const code = parseCode(classFile, method)
    const { bytecode } = code
    const locals = this.#localsOnEntry(method)
    if (locals.length > code.maxLocals) throw new TypeProblem(0, 'the arguments do not fit into the locals')
    const starts = new Uint8Array(bytecode.length)
    forEachInstruction(bytecode, (bci) => {
      starts[bci] = 1
    })
    let steps = 0
    types.spend = (count) => {
      steps += count
      if (steps > MAX_STEPS) throw new Unchecked('it takes too long')
    }
    const state = new State(types, code.maxStack, code.maxLocals)
    state.become({ bci: 0, locals, stack: [], thisUninitialized: locals[0] === UNINITIALIZED_THIS })
    const guards = guardsOf(code.handlers, starts, types)
    const control = inferred
      ? new InferredFrames(code, guards, starts, types)
      : new PromisedFrames(readFrames(classFile, code, starts, locals, types), guards, types)
    control.run(new Instructions(classFile, method, code, types, this.#members, control), state)
  }

  #localsOnEntry({ access, name, descriptor }: MethodInfo): readonly Type[] {
    const { parameters } = this.#types.signature(descriptor)
    if ((access & ACC_STATIC) !== 0) return parameters
    const uninitialized = name === '<init>' && this.classFile.superName !== null
    return [uninitialized ? UNINITIALIZED_THIS : this.#types.current, ...parameters]
  }
}
