// The shared buffer: one mapped file, written by the threads of the target, read by the client.
//
// There are no locks. A thread owns a chunk and appends 8-byte events to it (event-layout.ts). The
// client reads every owned chunk up to its first zero word, so it can read events before the chunk is full.
// It zeroes a full chunk before it frees the chunk. All numbers are little-endian.
//
//   offset        size            what
//        0        4096            header, below
//     4096        4 * chunkCount  chunk states, u32 each, padded to a multiple of 4096
//   chunksOffset  chunkBytes * n  chunks
//   after the chunks              trees, in sessions in which threads keep trees (tree-layout.ts)
//
// Header:
//   offset  size  type  field         written by
//        0     4  u32   magic         client, "JFR1" read as little-endian
//        4     4  u32   chunkBytes    client; multiple of 4096
//        8     4  u32   chunkCount    client
//       12     4  u32   chunksOffset  client
//       16     4  u32   heartbeat     client, +1 at every poll. If it stops for 250 ms, waiting threads of
//                                     the target continue unrecorded until it moves again. The limit is
//                                     2 s if the reader thread (fields below) waits for a processor
//       20     4  u32   ended         target, set when it has stopped recording by itself: 1 if the
//                                     client was stopped or killed, 2 if the client sent nothing for 10 s,
//                                     3 if the agent was ordered to detach
//       24     4  u32   starving      target, +1 each time a thread found no free chunk, or no free block
//       28     4  u32   readerProcess client, pid of the process that increments `heartbeat`
//       32     4  u32   readerThread  client, id of the thread that increments `heartbeat`
//       36     4  u32   readerSince   client, start time of that thread: low half of field 22 in /proc/…/stat
//       40     4  u32   gaps          target, +1 each time something was not recorded
//       44     4  u32   blocks        client, number of blocks of trees (tree-layout.ts). The highest bit means that no
//                                     more blocks will be added; 0 without trees
//
// The life of a chunk (u32 in the state table):
//
//   FREE --thread CAS--> BUSY --root left--> IDLE --root entered again, CAS--> BUSY
//   BUSY --no room--> FULL --client drained and zeroed it--> FREE
//   IDLE --CAS by the agent when chunks are scarce, or by a thread that finds no free chunk--> FULL
//
// Chunk:
//   offset  size  type  field
//        0     4  u32   writer    dense from 1, stored last (release): 0 means "not yet"
//        4     4  u32   sequence  0, 1, 2 … of this writer's chunks
//        8     8  u64   epoch     session ticks >>> 40 when the writer acquired the chunk
//       16   8·n  u64   events    oldest first; 0 = not written yet
//
// The Java twin is backend-java/runtime/java/lang/JFluid1Layout.java; a test compares the constants.

export const RING_MAGIC = 0x3152464a // "JFR1"
export const RING_CHUNK_BYTES = 4
export const RING_CHUNK_COUNT = 8
export const RING_CHUNKS_OFFSET = 12
export const RING_HEARTBEAT = 16
export const RING_ENDED = 20
export const RING_STARVING = 24
export const RING_READER_PROCESS = 28
export const RING_READER_THREAD = 32
export const RING_READER_SINCE = 36
export const RING_GAPS = 40
export const RING_BLOCKS = 44
export const RING_STATES = 4096

/** Value of `ended`: the client was stopped or killed. */
export const ENDED_STOPPED = 1
/** Value of `ended`: the client sent nothing for 10 s. */
export const ENDED_SILENT = 2
/** Value of `ended`: a process other than the client has ordered the agent to detach. */
export const ENDED_DISMISSED = 3

export const CHUNK_FREE = 0
export const CHUNK_BUSY = 1
export const CHUNK_IDLE = 2
export const CHUNK_FULL = 3

export const CHUNK_WRITER = 0
export const CHUNK_SEQUENCE = 4
export const CHUNK_EPOCH = 8
export const CHUNK_EVENTS = 16

/** Returns the file offset of the chunks, for `chunkCount` states. */
export function chunksOffset(chunkCount: number): number {
  return RING_STATES + Math.ceil((chunkCount * 4) / 4096) * 4096
}

/** Returns the size of the whole file in bytes. */
export function ringBytes(chunkBytes: number, chunkCount: number): number {
  return chunksOffset(chunkCount) + chunkBytes * chunkCount
}
