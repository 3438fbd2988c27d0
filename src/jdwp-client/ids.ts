// Names that the JVM gives to things. They are opaque, so here they are strings of hex digits: comparable,
// printable, keys of a Map, and no BigInt. Their lengths come from VirtualMachine.IDSizes.
//
// TypeScript tells them apart: the id of a thread is one of an object, not the other way round, and that of
// a class (which names the type) is not that of its `java.lang.Class` object (ReferenceType.ClassObject).
// The null object is `null`, wherever the specification lets one come or go.

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

/** A class, an interface or an array type. Valid until it is unloaded. */
export type TypeId = Id<'type'>
export type ClassId = Id<'type' | 'class'>
export type InterfaceId = Id<'type' | 'interface'>
export type ArrayTypeId = Id<'type' | 'arrayType'>

/** Belongs to one version of its class: after a redefinition ask for the methods again. */
export type MethodId = Id<'method'>
export type FieldId = Id<'field'>
/** Valid while its thread stays suspended. */
export type FrameId = Id<'frame'>

/** Bytes of each kind of id, as this JVM makes them: 1 to 8. */
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
