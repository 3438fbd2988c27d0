// Options for a new JVM that make its flight recorder sample from the start. The recorder's repository is in a directory of jfluid, so no
// request to the JVM is needed.

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
  /** Process id of the JVM. */
  readonly pid: number
  readonly name: string
  readonly repository: string
}

export interface RecordingDoor {
  /** Options for the JVM. They contain no spaces. */
  readonly options: readonly string[]
  /** Returns the first JVM that has begun to record, or null if there is none yet. */
  look(): StartedRecording | null
  /** Removes the repository. All JVMs that use it must have ended. */
  leave(): void
}

/**
 * Creates the repository and the options.
 * @param debugInfo  whether the JVM keeps debug info of compiled code from its start
 * @throws NoRoomForRecording
 */
export function openRecordingDoor(sampling: Sampling, debugInfo = false): RecordingDoor {
  // The directory is not in shared memory, since shared memory is small in containers and the target needs it.
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
      // Each entry is named <date and time>_<process id> and contains the files of one JVM.
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
