// How a JVM that is about to be started samples itself from its first moment on: by options, with the repository in a
// directory of ours, so that it need not be asked for anything.

import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { recordingOptions } from '../../attach/flight-recorder.ts'
import type { Sampling } from '../../profile/profile.ts'
import { makeSessionDirectory } from '../doors/session-directory.ts'
import { DEBUG_INFO_OPTIONS } from './debug-info.ts'
import { BOUNDS, recordingsIn, STACK_DEPTH, sampleSettings } from './flight-recording.ts'
import { recordingName } from './recording-names.ts'
import { mustHaveRoom, ROOM_TO_BEGIN } from './recording-room.ts'

export interface StartedRecording {
  /** Of the JVM. */
  readonly pid: number
  readonly name: string
  readonly repository: string
}

export interface RecordingDoor {
  /** Options of the JVM, without blanks in them. */
  readonly options: readonly string[]
  /** Whether a JVM has begun: the first, if there are several. */
  look(): StartedRecording | null
  /** Removes the repository. No JVM may need it any more. */
  leave(): void
}

/**
 * @param debugInfo  compiled code has debug info from the first moment on
 * @throws NoRoomForRecording
 */
export function openRecordingDoor(sampling: Sampling, debugInfo = false): RecordingDoor {
  // Shared memory is small in containers, and the target's to use.
  const directory = makeSessionDirectory(null, 2 * ROOM_TO_BEGIN)
  const dir = directory.path
  try {
    mustHaveRoom(dir, dirname(dir), ROOM_TO_BEGIN)
  } catch (error) {
    directory.remove()
    throw error
  }
  const name = recordingName()
  return {
    options: [
      ...recordingOptions(
        { name, settings: sampleSettings(sampling), ...BOUNDS },
        { repository: dir, stackDepth: STACK_DEPTH },
      ),
      ...(debugInfo ? DEBUG_INFO_OPTIONS : []),
    ],
    look() {
      // <date and time>_<process id>, each with the JVM's own directory and files
      for (const entry of readdirSync(dir).sort()) {
        const repository = join(dir, entry)
        const pid = Number(/_(\d+)$/.exec(entry)?.[1])
        if (pid > 0 && recordingsIn(repository).length > 0) return { pid, name, repository }
      }
      return null
    },
    leave: () => directory.remove(),
  }
}
