// Sends every command once to a program suspended in `call`: for the real JVM, a recording of it, and mutated input.

import type { CommandName } from '../../src/jdwp-client/commands.ts'
import type {
  ArrayId,
  ArrayTypeId,
  ClassId,
  ClassLoaderId,
  ClassObjectId,
  FieldId,
  FrameId,
  InterfaceId,
  JdwpTarget,
  MethodId,
  ModuleId,
  ObjectId,
  Result,
  StringId,
  ThreadGroupId,
  ThreadId,
} from '../../src/jdwp-client/index.ts'

export interface Things {
  readonly type: ClassId
  readonly shape: InterfaceId
  readonly arrayType: ArrayTypeId
  readonly method: MethodId
  readonly sides: MethodId
  readonly constructorOf: MethodId
  readonly plus: MethodId
  readonly statics: readonly FieldId[]
  readonly number: FieldId
  readonly watched: FieldId
  readonly object: ObjectId
  readonly throwable: ObjectId
  readonly string: StringId
  readonly array: ArrayId
  readonly thread: ThreadId
  readonly otherThread: ThreadId
  readonly group: ThreadGroupId
  readonly loader: ClassLoaderId
  readonly classObject: ClassObjectId
  readonly module: ModuleId
  readonly frame: FrameId
}

export type Ask = readonly [name: CommandName, ask: () => Promise<Result<unknown>>]

/** Returns all commands except ELSEWHERE, in an order in which a real JVM can answer them. */
export function asksOf(jvm: JdwpTarget, it: Things): readonly Ask[] {
  const { virtualMachine: vm, referenceType: type, objectReference: object, threadReference: thread } = jvm
  const one = { tag: 'INT', value: 1 } as const
  return [
    ['VirtualMachine.Version', () => vm.version()],
    ['VirtualMachine.ClassesBySignature', () => vm.classesBySignature('Ldbg/Debuggee;')],
    ['VirtualMachine.AllClasses', () => vm.allClasses()],
    ['VirtualMachine.AllClassesWithGeneric', () => vm.allClassesWithGeneric()],
    ['VirtualMachine.AllThreads', () => vm.allThreads()],
    ['VirtualMachine.TopLevelThreadGroups', () => vm.topLevelThreadGroups()],
    ['VirtualMachine.CreateString', () => vm.createString('ü')],
    ['VirtualMachine.Capabilities', () => vm.capabilities()],
    ['VirtualMachine.CapabilitiesNew', () => vm.capabilitiesNew()],
    ['VirtualMachine.ClassPaths', () => vm.classPaths()],
    ['VirtualMachine.HoldEvents', () => vm.holdEvents()],
    ['VirtualMachine.ReleaseEvents', () => vm.releaseEvents()],
    ['VirtualMachine.SetDefaultStratum', () => vm.setDefaultStratum('Java')],
    ['VirtualMachine.InstanceCounts', () => vm.instanceCounts([it.type])],
    ['VirtualMachine.AllModules', () => vm.allModules()],
    ['VirtualMachine.RedefineClasses', () => vm.redefineClasses([])],
    ['ReferenceType.Signature', () => type.signature(it.type)],
    ['ReferenceType.ClassLoader', () => type.classLoader(it.type)],
    ['ReferenceType.Modifiers', () => type.modifiers(it.type)],
    ['ReferenceType.Fields', () => type.fields(it.type)],
    ['ReferenceType.Methods', () => type.methods(it.type)],
    ['ReferenceType.GetValues', () => type.getValues(it.type, it.statics)],
    ['ReferenceType.SourceFile', () => type.sourceFile(it.type)],
    ['ReferenceType.NestedTypes', () => type.nestedTypes(it.type)],
    ['ReferenceType.Status', () => type.status(it.type)],
    ['ReferenceType.Interfaces', () => type.interfaces(it.type)],
    ['ReferenceType.ClassObject', () => type.classObject(it.type)],
    ['ReferenceType.SourceDebugExtension', () => type.sourceDebugExtension(it.type)],
    ['ReferenceType.SignatureWithGeneric', () => type.signatureWithGeneric(it.type)],
    ['ReferenceType.FieldsWithGeneric', () => type.fieldsWithGeneric(it.type)],
    ['ReferenceType.MethodsWithGeneric', () => type.methodsWithGeneric(it.type)],
    ['ReferenceType.Instances', () => type.instances(it.type, 0)],
    ['ReferenceType.ClassFileVersion', () => type.classFileVersion(it.type)],
    ['ReferenceType.ConstantPool', () => type.constantPool(it.type)],
    ['ReferenceType.Module', () => type.module(it.type)],
    ['StackFrame.ThisObject', () => jvm.stackFrame.thisObject(it.thread, it.frame)],
    ['StackFrame.GetValues', () => jvm.stackFrame.getValues(it.thread, it.frame, [{ slot: 0, tag: 'INT' }])],
    ['StackFrame.SetValues', () => jvm.stackFrame.setValues(it.thread, it.frame, [{ slot: 0, value: one }])],
    ['ClassType.Superclass', () => jvm.classType.superclass(it.type)],
    ['ClassType.SetValues', () => jvm.classType.setValues(it.type, [{ field: it.watched, value: one }])],
    [
      'ClassType.InvokeMethod',
      () =>
        jvm.classType.invokeMethod(it.type, {
          ...{ thread: it.thread, method: it.method },
          arguments: [one, { tag: 'STRING', id: it.string }],
        }),
    ],
    [
      'ClassType.NewInstance',
      () =>
        jvm.classType.newInstance(it.type, { thread: it.thread, method: it.constructorOf, arguments: [one] }),
    ],
    ['ArrayType.NewInstance', () => jvm.arrayType.newInstance(it.arrayType, 4)],
    [
      'InterfaceType.InvokeMethod',
      () =>
        jvm.interfaceType.invokeMethod(it.shape, { thread: it.thread, method: it.sides, arguments: [one] }),
    ],
    ['Method.LineTable', () => jvm.method.lineTable(it.type, it.method)],
    ['Method.VariableTable', () => jvm.method.variableTable(it.type, it.method)],
    ['Method.Bytecodes', () => jvm.method.bytecodes(it.type, it.method)],
    ['Method.IsObsolete', () => jvm.method.isObsolete(it.type, it.method)],
    ['Method.VariableTableWithGeneric', () => jvm.method.variableTableWithGeneric(it.type, it.method)],
    ['ObjectReference.ReferenceType', () => object.referenceType(it.object)],
    ['ObjectReference.GetValues', () => object.getValues(it.object, [it.number])],
    ['ObjectReference.SetValues', () => object.setValues(it.object, [{ field: it.number, value: one }])],
    [
      'ObjectReference.InvokeMethod',
      () => object.invokeMethod(it.object, it.type, { thread: it.thread, method: it.plus, arguments: [one] }),
    ],
    ['ObjectReference.DisableCollection', () => object.disableCollection(it.object)],
    ['ObjectReference.EnableCollection', () => object.enableCollection(it.object)],
    ['ObjectReference.IsCollected', () => object.isCollected(it.object)],
    ['ObjectReference.ReferringObjects', () => object.referringObjects(it.object, 0)],
    ['StringReference.Value', () => jvm.stringReference.value(it.string)],
    ['ThreadReference.Name', () => thread.name(it.thread)],
    ['ThreadReference.Suspend', () => thread.suspend(it.otherThread)],
    ['ThreadReference.SuspendCount', () => thread.suspendCount(it.otherThread)],
    ['ThreadReference.Status', () => thread.status(it.otherThread)],
    ['ThreadReference.Resume', () => thread.resume(it.otherThread)],
    ['ThreadReference.ThreadGroup', () => thread.threadGroup(it.thread)],
    ['ThreadReference.Interrupt', () => thread.interrupt(it.otherThread)],
    ['ThreadReference.IsVirtual', () => thread.isVirtual(it.thread)],
    ['ThreadReference.Frames', () => thread.frames(it.thread)],
    ['ThreadReference.FrameCount', () => thread.frameCount(it.thread)],
    ['ThreadReference.OwnedMonitors', () => thread.ownedMonitors(it.thread)],
    ['ThreadReference.CurrentContendedMonitor', () => thread.currentContendedMonitor(it.thread)],
    ['ThreadReference.OwnedMonitorsStackDepthInfo', () => thread.ownedMonitorsStackDepthInfo(it.thread)],
    ['ThreadGroupReference.Name', () => jvm.threadGroupReference.name(it.group)],
    ['ThreadGroupReference.Parent', () => jvm.threadGroupReference.parent(it.group)],
    ['ThreadGroupReference.Children', () => jvm.threadGroupReference.children(it.group)],
    ['ArrayReference.Length', () => jvm.arrayReference.length(it.array)],
    ['ArrayReference.GetValues', () => jvm.arrayReference.getValues(it.array, 0, 2)],
    [
      'ArrayReference.SetValues',
      () => jvm.arrayReference.setValues(it.array, 0, { tag: 'INT', values: Int32Array.of(3) }),
    ],
    ['ClassLoaderReference.VisibleClasses', () => jvm.classLoaderReference.visibleClasses(it.loader)],
    ['ClassObjectReference.ReflectedType', () => jvm.classObjectReference.reflectedType(it.classObject)],
    ['ModuleReference.Name', () => jvm.moduleReference.name(it.module)],
    ['ModuleReference.ClassLoader', () => jvm.moduleReference.classLoader(it.module)],
    ['EventRequest.Set', () => jvm.eventRequest.set('VM_DEATH', 'NONE')],
    ['EventRequest.Clear', () => jvm.eventRequest.clear('VM_DEATH', 1)],
    ['EventRequest.ClearAllBreakpoints', () => jvm.eventRequest.clearAllBreakpoints()],
    ['VirtualMachine.Suspend', () => vm.suspend()],
    ['ObjectReference.MonitorInfo', () => object.monitorInfo(it.object)],
    ['VirtualMachine.Resume', () => vm.resume()],
    ['VirtualMachine.DisposeObjects', () => vm.disposeObjects([{ object: it.string, count: 1 }])],
    ['ThreadReference.Stop', () => thread.stop(it.otherThread, it.throwable)],
    ['ThreadReference.ForceEarlyReturn', () => thread.forceEarlyReturn(it.thread, one)],
    ['StackFrame.PopFrames', () => jvm.stackFrame.popFrames(it.thread, it.frame)],
  ]
}

/** Commands that are sent when a JVM is no longer needed, or by `JdwpTarget` itself. */
export const ELSEWHERE: readonly CommandName[] = [
  'VirtualMachine.Dispose',
  'VirtualMachine.IDSizes',
  'VirtualMachine.Exit',
]
