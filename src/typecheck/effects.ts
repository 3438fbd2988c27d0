// Stack effects (JVMS 4.10.1.9) of instructions whose effect does not depend on operands, as text: `LI>L` pops a long and an int, the int
// on top, and pushes a long. The letters are the letters of descriptors, and: A, an initialised object or null; R, any object,
// initialised or uninitialised, or null; N, null.

import { MNEMONICS } from '../classfile/opcodes.ts'
import { DOUBLE, DOUBLE_2, FLOAT, INTEGER, LONG, LONG_2, NULL, type Type } from './types.ts'

/** Popped slot with an object of any class: the class is not checked. */
export const ANY_OBJECT = -1
export const ANY_REFERENCE = -2

export interface Effect {
  /** Popped slots in stack order. Each slot is a type, ANY_OBJECT or ANY_REFERENCE. */
  readonly pops: readonly Type[]
  readonly pushes: readonly Type[]
}

// biome-ignore format: a table
const TABLE: Record<string, string> = {
  '>': 'nop goto goto_w return',
  '>N': 'aconst_null',
  '>I': 'iconst_m1 iconst_0 iconst_1 iconst_2 iconst_3 iconst_4 iconst_5 bipush sipush',
  '>J': 'lconst_0 lconst_1',
  '>F': 'fconst_0 fconst_1 fconst_2',
  '>D': 'dconst_0 dconst_1',
  'II>I': 'iadd isub imul idiv irem ishl ishr iushr iand ior ixor',
  'JJ>J': 'ladd lsub lmul ldiv lrem land lor lxor',
  'JI>J': 'lshl lshr lushr',
  'FF>F': 'fadd fsub fmul fdiv frem',
  'DD>D': 'dadd dsub dmul ddiv drem',
  'I>I': 'ineg i2b i2c i2s',
  'J>J': 'lneg',
  'F>F': 'fneg',
  'D>D': 'dneg',
  'I>J': 'i2l', 'I>F': 'i2f', 'I>D': 'i2d',
  'J>I': 'l2i', 'J>F': 'l2f', 'J>D': 'l2d',
  'F>I': 'f2i', 'F>J': 'f2l', 'F>D': 'f2d',
  'D>I': 'd2i', 'D>J': 'd2l', 'D>F': 'd2f',
  'JJ>I': 'lcmp',
  'FF>I': 'fcmpl fcmpg',
  'DD>I': 'dcmpl dcmpg',
  'I>': 'ifeq ifne iflt ifge ifgt ifle tableswitch lookupswitch ireturn',
  'II>': 'if_icmpeq if_icmpne if_icmplt if_icmpge if_icmpgt if_icmple',
  'RR>': 'if_acmpeq if_acmpne',
  'R>': 'ifnull ifnonnull monitorenter monitorexit',
  'J>': 'lreturn', 'F>': 'freturn', 'D>': 'dreturn',
}

/** Slots of a value, keyed by the letter of its type. */
export const SLOTS: Record<string, readonly Type[]> = {
  I: [INTEGER],
  J: [LONG, LONG_2],
  F: [FLOAT],
  D: [DOUBLE, DOUBLE_2],
  N: [NULL],
  A: [ANY_OBJECT],
  R: [ANY_REFERENCE],
}

/** Effects indexed by opcode; undefined if the effect depends on the operands. */
export const EFFECTS: readonly (Effect | undefined)[] = effects()

function effects(): (Effect | undefined)[] {
  const byOpcode = new Array<Effect | undefined>(MNEMONICS.length).fill(undefined)
  const slots = (letters: string) => [...letters].flatMap((letter) => SLOTS[letter])
  for (const [notation, mnemonics] of Object.entries(TABLE)) {
    const [pops, pushes] = notation.split('>')
    const effect = { pops: slots(pops), pushes: slots(pushes) }
    for (const mnemonic of mnemonics.split(' ')) byOpcode[MNEMONICS.indexOf(mnemonic)] = effect
  }
  return byOpcode
}
