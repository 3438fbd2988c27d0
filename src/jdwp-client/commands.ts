// Every command of the specification: the number of its set, its own number, and the first JDK that has the command.
//
// Source: jdwp.spec of JDK 25. JDK 17 has all commands except those in `SINCE`. Command set 8, Field, exists but has no commands.

export const COMMANDS = {
  VirtualMachine: {
    set: 1,
    commands: {
      Version: 1,
      ClassesBySignature: 2,
      AllClasses: 3,
      AllThreads: 4,
      TopLevelThreadGroups: 5,
      Dispose: 6,
      IDSizes: 7,
      Suspend: 8,
      Resume: 9,
      Exit: 10,
      CreateString: 11,
      Capabilities: 12,
      ClassPaths: 13,
      DisposeObjects: 14,
      HoldEvents: 15,
      ReleaseEvents: 16,
      CapabilitiesNew: 17,
      RedefineClasses: 18,
      SetDefaultStratum: 19,
      AllClassesWithGeneric: 20,
      InstanceCounts: 21,
      AllModules: 22,
    },
  },
  ReferenceType: {
    set: 2,
    commands: {
      Signature: 1,
      ClassLoader: 2,
      Modifiers: 3,
      Fields: 4,
      Methods: 5,
      GetValues: 6,
      SourceFile: 7,
      NestedTypes: 8,
      Status: 9,
      Interfaces: 10,
      ClassObject: 11,
      SourceDebugExtension: 12,
      SignatureWithGeneric: 13,
      FieldsWithGeneric: 14,
      MethodsWithGeneric: 15,
      Instances: 16,
      ClassFileVersion: 17,
      ConstantPool: 18,
      Module: 19,
    },
  },
  ClassType: { set: 3, commands: { Superclass: 1, SetValues: 2, InvokeMethod: 3, NewInstance: 4 } },
  ArrayType: { set: 4, commands: { NewInstance: 1 } },
  InterfaceType: { set: 5, commands: { InvokeMethod: 1 } },
  Method: {
    set: 6,
    commands: { LineTable: 1, VariableTable: 2, Bytecodes: 3, IsObsolete: 4, VariableTableWithGeneric: 5 },
  },
  ObjectReference: {
    set: 9,
    commands: {
      ReferenceType: 1,
      GetValues: 2,
      SetValues: 3,
      MonitorInfo: 5,
      InvokeMethod: 6,
      DisableCollection: 7,
      EnableCollection: 8,
      IsCollected: 9,
      ReferringObjects: 10,
    },
  },
  StringReference: { set: 10, commands: { Value: 1 } },
  ThreadReference: {
    set: 11,
    commands: {
      Name: 1,
      Suspend: 2,
      Resume: 3,
      Status: 4,
      ThreadGroup: 5,
      Frames: 6,
      FrameCount: 7,
      OwnedMonitors: 8,
      CurrentContendedMonitor: 9,
      Stop: 10,
      Interrupt: 11,
      SuspendCount: 12,
      OwnedMonitorsStackDepthInfo: 13,
      ForceEarlyReturn: 14,
      IsVirtual: 15,
    },
  },
  ThreadGroupReference: { set: 12, commands: { Name: 1, Parent: 2, Children: 3 } },
  ArrayReference: { set: 13, commands: { Length: 1, GetValues: 2, SetValues: 3 } },
  ClassLoaderReference: { set: 14, commands: { VisibleClasses: 1 } },
  EventRequest: { set: 15, commands: { Set: 1, Clear: 2, ClearAllBreakpoints: 3 } },
  StackFrame: { set: 16, commands: { GetValues: 1, SetValues: 2, ThisObject: 3, PopFrames: 4 } },
  ClassObjectReference: { set: 17, commands: { ReflectedType: 1 } },
  ModuleReference: { set: 18, commands: { Name: 1, ClassLoader: 2 } },
} as const

/** Set and number of Event.Composite, the only command that a JVM sends. */
export const EVENT_SET = 64
export const COMPOSITE = 100

/** Commands missing in JDK 17, with their first JDK. A JVM without a command answers NOT_IMPLEMENTED. */
export const SINCE: Readonly<Record<string, number>> = {
  'ThreadReference.IsVirtual': 19,
  'EventRequest.Set PlatformThreadsOnly': 19,
}

export type SetName = keyof typeof COMMANDS
/** Name of a command, for example `VirtualMachine.Version`. */
export type CommandName = {
  [S in SetName]: `${S}.${keyof (typeof COMMANDS)[S]['commands'] & string}`
}[SetName]

const NUMBERS: ReadonlyMap<string, readonly [set: number, command: number]> = new Map(
  Object.entries(COMMANDS).flatMap(([name, { set, commands }]) =>
    Object.entries(commands).map(([command, number]) => [`${name}.${command}`, [set, number as number]]),
  ),
)

export function numbersOf(name: CommandName): readonly [set: number, command: number] {
  return NUMBERS.get(name)!
}
