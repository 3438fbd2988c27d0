// Layout of the trees that threads of the target keep in the buffer, after the chunks (ring-layout.ts). Used where calls or bytecodes are
// counted (`--mode count`, `--mode bytecodes`). A call writes no event; it increments a count in the record of its context. The client
// reads the records whenever it needs the counts.
//
//   offset               size               what
//   treesOffset          4 * MAX_BLOCKS    states of blocks, u32 each
//   after the states     4096 * n           blocks; n is in the header of the buffer. The client adds blocks, up to MAX_BLOCKS
//
// The life of a block: FREE --thread CAS--> TAKEN --the thread ends--> OVER --the client reads and zeroes it--> FREE
//
// Block: a head as large as a record, and 127 records.
//   offset  size  type  field
//        0     4  u32   thread    number of the owner, stored last (release): 0 means "not yet"
//        4     4  u32   before    the thread's previous block, counted from 1, 0 for none; used by the target only
//
// Record: a context. Records are numbered from the start of the first block; index 0 means no record.
//   offset  size  type  field
//        0     8  u64   calls
//        8     8  u64   executed  bytecodes executed, callees excluded; 0 if bytecodes are not counted
//       16     4  i32   method    stored last (release): 0 means "not written yet"; -1 is the record above the thread's roots
//       20     4  u32   parent    index; a parent is written before its children
//       24     4  u32   child     index of the callee that was called last
//       28     4  u32   sibling   index of the next callee of the same parent, in a circular list
//
// `child` and `sibling` are used only by the owning thread: the client does not read them.
//
// The Java twin is backend-java/runtime/java/lang/JFluid1Layout.java; a test compares the constants.

import { ringBytes } from './ring-layout.ts'

/** Maximum number of blocks: two million contexts, 64 MiB. */
export const MAX_BLOCKS = 16384
export const BLOCK_BYTES = 4096
export const BLOCK_FREE = 0
export const BLOCK_TAKEN = 1
export const BLOCK_OVER = 2
export const BLOCK_THREAD = 0
export const RECORD_BYTES = 32
export const RECORD_CALLS = 0
export const RECORD_EXECUTED = 8
export const RECORD_METHOD = 16
export const RECORD_PARENT = 20

/** Bytes of the states of blocks. */
export const BLOCK_STATES_BYTES = MAX_BLOCKS * 4

/** Returns the bytes of trees with this number of blocks. */
export function treesBytes(blockCount: number): number {
  return blockCount === 0 ? 0 : BLOCK_STATES_BYTES + blockCount * BLOCK_BYTES
}

/** Returns the size of a buffer's file. With blocks, this includes holes in the file for blocks that may be added later. */
export function bufferBytes(chunkBytes: number, chunkCount: number, blockCount: number): number {
  return ringBytes(chunkBytes, chunkCount) + (blockCount === 0 ? 0 : treesBytes(MAX_BLOCKS))
}
