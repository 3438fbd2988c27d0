// The instruction set (JVMS 6.5): numbers, names and lengths.

export const NOP = 0
export const ACONST_NULL = 1
export const ICONST_0 = 3
export const LCONST_0 = 9
export const LCONST_1 = 10
export const BIPUSH = 16
export const SIPUSH = 17
export const LDC = 18
export const LDC_W = 19
export const LDC2_W = 20
export const ILOAD = 21
export const LLOAD = 22
export const FLOAD = 23
export const DLOAD = 24
export const ALOAD = 25
export const ILOAD_0 = 26
export const ALOAD_0 = 42
export const ALOAD_3 = 45
export const IALOAD = 46
export const SALOAD = 53
export const ISTORE = 54
export const LSTORE = 55
export const DSTORE = 57
export const ASTORE = 58
export const ISTORE_0 = 59
export const ASTORE_3 = 78
export const IASTORE = 79
export const SASTORE = 86
export const POP = 87
export const POP2 = 88
export const DUP = 89
export const DUP_X1 = 90
export const DUP_X2 = 91
export const DUP2 = 92
export const DUP2_X1 = 93
export const DUP2_X2 = 94
export const SWAP = 95
export const IDIV = 108
export const LDIV = 109
export const IREM = 112
export const LREM = 113
export const ISHL = 120
export const IOR = 128
export const IINC = 132
export const I2L = 133
export const F2D = 141
export const I2C = 146
export const IFEQ = 153
export const IF_ACMPEQ = 165
export const IF_ACMPNE = 166
export const GOTO = 167
export const JSR = 168
export const RET = 169
export const TABLESWITCH = 170
export const LOOKUPSWITCH = 171
export const IRETURN = 172
export const LRETURN = 173
export const FRETURN = 174
export const DRETURN = 175
export const ARETURN = 176
export const RETURN = 177
export const GETSTATIC = 178
export const PUTSTATIC = 179
export const GETFIELD = 180
export const PUTFIELD = 181
export const INVOKEVIRTUAL = 182
export const INVOKESPECIAL = 183
export const INVOKESTATIC = 184
export const INVOKEINTERFACE = 185
export const INVOKEDYNAMIC = 186
export const NEW = 187
export const NEWARRAY = 188
export const ANEWARRAY = 189
export const ARRAYLENGTH = 190
export const ATHROW = 191
export const MONITORENTER = 194
export const MONITOREXIT = 195
export const CHECKCAST = 192
export const INSTANCEOF = 193
export const WIDE = 196
export const MULTIANEWARRAY = 197
export const IFNULL = 198
export const IFNONNULL = 199
export const GOTO_W = 200
export const JSR_W = 201

/** Mnemonics by opcode. Opcodes beyond the end are invalid in a class file. */
// biome-ignore format: a table
export const MNEMONICS: readonly string[] = [
  'nop', 'aconst_null', 'iconst_m1', 'iconst_0', 'iconst_1', 'iconst_2', 'iconst_3', 'iconst_4',
  'iconst_5', 'lconst_0', 'lconst_1', 'fconst_0', 'fconst_1', 'fconst_2', 'dconst_0', 'dconst_1',
  'bipush', 'sipush', 'ldc', 'ldc_w', 'ldc2_w', 'iload', 'lload', 'fload', 'dload', 'aload', 'iload_0',
  'iload_1', 'iload_2', 'iload_3', 'lload_0', 'lload_1', 'lload_2', 'lload_3', 'fload_0', 'fload_1',
  'fload_2', 'fload_3', 'dload_0', 'dload_1', 'dload_2', 'dload_3', 'aload_0', 'aload_1', 'aload_2',
  'aload_3', 'iaload', 'laload', 'faload', 'daload', 'aaload', 'baload', 'caload', 'saload', 'istore',
  'lstore', 'fstore', 'dstore', 'astore', 'istore_0', 'istore_1', 'istore_2', 'istore_3', 'lstore_0',
  'lstore_1', 'lstore_2', 'lstore_3', 'fstore_0', 'fstore_1', 'fstore_2', 'fstore_3', 'dstore_0',
  'dstore_1', 'dstore_2', 'dstore_3', 'astore_0', 'astore_1', 'astore_2', 'astore_3', 'iastore',
  'lastore', 'fastore', 'dastore', 'aastore', 'bastore', 'castore', 'sastore', 'pop', 'pop2', 'dup',
  'dup_x1', 'dup_x2', 'dup2', 'dup2_x1', 'dup2_x2', 'swap', 'iadd', 'ladd', 'fadd', 'dadd', 'isub',
  'lsub', 'fsub', 'dsub', 'imul', 'lmul', 'fmul', 'dmul', 'idiv', 'ldiv', 'fdiv', 'ddiv', 'irem', 'lrem',
  'frem', 'drem', 'ineg', 'lneg', 'fneg', 'dneg', 'ishl', 'lshl', 'ishr', 'lshr', 'iushr', 'lushr',
  'iand', 'land', 'ior', 'lor', 'ixor', 'lxor', 'iinc', 'i2l', 'i2f', 'i2d', 'l2i', 'l2f', 'l2d', 'f2i',
  'f2l', 'f2d', 'd2i', 'd2l', 'd2f', 'i2b', 'i2c', 'i2s', 'lcmp', 'fcmpl', 'fcmpg', 'dcmpl', 'dcmpg',
  'ifeq', 'ifne', 'iflt', 'ifge', 'ifgt', 'ifle', 'if_icmpeq', 'if_icmpne', 'if_icmplt', 'if_icmpge',
  'if_icmpgt', 'if_icmple', 'if_acmpeq', 'if_acmpne', 'goto', 'jsr', 'ret', 'tableswitch',
  'lookupswitch', 'ireturn', 'lreturn', 'freturn', 'dreturn', 'areturn', 'return', 'getstatic',
  'putstatic', 'getfield', 'putfield', 'invokevirtual', 'invokespecial', 'invokestatic',
  'invokeinterface', 'invokedynamic', 'new', 'newarray', 'anewarray', 'arraylength', 'athrow',
  'checkcast', 'instanceof', 'monitorenter', 'monitorexit', 'wide', 'multianewarray', 'ifnull',
  'ifnonnull', 'goto_w', 'jsr_w',
]

/** Length of each instruction in bytes, including the opcode, indexed by opcode; 0 if the length depends on the operands. */
export const LENGTHS: Uint8Array = Uint8Array.from(
  '11111111111111112323322222111111111111111111111111' +
    '11112222211111111111111111111111111111111111111111' +
    '11111111111111111111111111111111311111111111111111' +
    '11133333333333333332001111113333333553231133110433' +
    '55',
  Number,
)

/**
 * Number of stack slots that each instruction pops, indexed by opcode. 0 if the number depends on operands (field access, calls,
 * multianewarray, wide), and for instructions that rearrange the stack (dup…, swap).
 */
// biome-ignore format: a table
export const POPS: Uint8Array = Uint8Array.from(
  '00000000000000000000000000000000000000000000002222' +
  '22221212111112222111122221111343433331200000002424' +
  '24242424242424241212232323242424011122211122211142' +
  '24411111122222222000111212100000000000111111110011' +
  '00',
  Number,
)

/** Number of stack slots that each instruction pushes, indexed by opcode. 0 for the same instructions as in POPS. */
// biome-ignore format: a table
export const PUSHES: Uint8Array = Uint8Array.from(
  '01111111122111221111212121111122221111222211111212' +
  '11110000000000000000000000000000000000000000001212' +
  '12121212121212121212121212121212021211212212111111' +
  '11100000000000000010000000000000000001111011000000' +
  '01',
  Number,
)

/** Returns whether the opcode is ireturn, lreturn, freturn, dreturn, areturn or return. */
export function isReturn(opcode: number): boolean {
  return opcode >= IRETURN && opcode <= RETURN
}

/** Returns whether the opcode is invokevirtual, invokespecial, invokestatic, invokeinterface or invokedynamic. */
export function isCall(opcode: number): boolean {
  return opcode >= INVOKEVIRTUAL && opcode <= INVOKEDYNAMIC
}

/** Returns whether the opcode is a conditional branch: if…, ifnull, ifnonnull. */
export function isConditional(opcode: number): boolean {
  return (opcode >= IFEQ && opcode <= IF_ACMPNE) || opcode === IFNULL || opcode === IFNONNULL
}

/** Returns whether the opcode has a 16-bit branch offset: conditional, goto or jsr. */
export function isShortBranch(opcode: number): boolean {
  return (opcode >= IFEQ && opcode <= JSR) || opcode === IFNULL || opcode === IFNONNULL
}

/** Returns whether control never continues at the next instruction. False for jsr, since `ret` continues after the jsr. */
export function endsFlow(opcode: number): boolean {
  // The opcodes from RET to RETURN are ret, tableswitch, lookupswitch and all return instructions.
  return opcode === GOTO || opcode === GOTO_W || opcode === ATHROW || (opcode >= RET && opcode <= RETURN)
}
