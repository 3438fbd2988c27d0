// What can go wrong from outside, and the status that each ends jfluid with. Scripts branch on them, so
// they are written down here once more instead of being taken from the program.

export const STATUS = {
  usage: 64,
  corruptOrForeignFile: 65,
  fileNotFound: 66,
  rootNotFound: 67,
  noSuchProcess: 68,
  notAJvm: 69,
  software: 70,
  noTerminal: 71,
  jdkMissing: 72,
  cannotWrite: 73,
  jvmEnded: 74,
  notNow: 75,
  notOwner: 77,
  attachDisabled: 78,
  rootWithoutCode: 79,
  patternMatchedNothing: 80,
  terminalTooSmall: 81,
  rootNeverCalled: 83,
  notRestored: 84,
  clientHungUp: 129,
  clientInterrupted: 130, // before anything was recorded; a recording that Ctrl-C ends is done: 0
  clientQuit: 131,
  clientKilled: 137, // as the shell says it
  clientTerminated: 143,
} as const
