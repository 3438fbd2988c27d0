// Ids assigned by the JVM. An id is represented as a string of hex digits, so that it can be compared, printed and used
// as a Map key. The length of the ids is known from VirtualMachine.IDSizes.
//
// Kinds of ids are distinct TypeScript types: a thread id is also an object id, but an object id is no thread id. The id of a class (a
// reference type) is not the id of its `java.lang.Class` object (ReferenceType.ClassObject). Where the specification allows the null
// object, `null` represents it.

declare const names: unique symbol
type Id<Kinds extends string> = string & { readonly [names]: { readonly [Kind in Kinds]: true } }

export type ObjectId = Id<'object'>
export type StringId = Id<'object' | 'string'>
export type ThreadId = Id<'object' | 'thread'>
export type ThreadGroupId = Id<'object' | 'threadGroup'>
export type ArrayId = Id<'object' | 'array'>
export type ClassLoaderId = Id<'object' | 'classLoader'>
export type ClassObjectId = Id<'object' | 'classObject'>
export type ModuleId = Id<'object' | 'module'>

/** Id of a class, an interface or an array type. The id is valid until the type is unloaded. */
export type TypeId = Id<'type'>
export type ClassId = Id<'type' | 'class'>
export type InterfaceId = Id<'type' | 'interface'>
export type ArrayTypeId = Id<'type' | 'arrayType'>

/** Id of a method in one version of its class. After a redefinition of the class, method ids must be requested again. */
export type MethodId = Id<'method'>
export type FieldId = Id<'field'>
/** Id of a frame, valid while its thread stays suspended. */
export type FrameId = Id<'frame'>

/** Size of each kind of id in this JVM, bytes: 1 to 8. */
export interface IdSizes {
  readonly field: number
  readonly method: number
  readonly object: number
  readonly referenceType: number
  readonly frame: number
}

export type IdKind = keyof IdSizes
export type IdOf = {
  readonly field: FieldId
  readonly method: MethodId
  readonly object: ObjectId
  readonly referenceType: TypeId
  readonly frame: FrameId
}
