// Errors with external causes, and the exit status of each. Scripts depend on these, so
// they are written here again instead of being imported from the program.

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
  clientInterrupted: 130, // before data were recorded; a recording ended by Ctrl-C is complete: 0
  clientQuit: 131,
  clientKilled: 137, // as reported by the shell
  clientTerminated: 143,
} as const
