// How large the event buffer of a session is.

import { ringBytes } from '../../events/ring-layout.ts'

export const CHUNK_BYTES = 32 << 10
export const CHUNK_COUNT = 512
export const BUFFER_BYTES = ringBytes(CHUNK_BYTES, CHUNK_COUNT)
