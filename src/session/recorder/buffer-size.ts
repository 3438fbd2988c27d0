// Size of the event buffer of a session.

import { ringBytes } from '../../events/ring-layout.ts'

export const CHUNK_BYTES = 32 << 10
export const CHUNK_COUNT = 512
/**
 * Numbers of chunks and tree blocks if threads keep their trees in the buffer (events/tree-layout.ts) and write few events. The buffer has
 * the same total size as above.
 */
export const CHUNKS_BESIDE_TREES = 256
export const FIRST_BLOCKS = 2030
export const BUFFER_BYTES = ringBytes(CHUNK_BYTES, CHUNK_COUNT)
