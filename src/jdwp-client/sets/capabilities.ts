// Capabilities of a JVM: one byte each, in this order. The JVM refuses a command without its capability with NOT_IMPLEMENTED.

import type { DataReader } from '../data.ts'

/** VirtualMachine.Capabilities: the first capabilities of CapabilitiesNew. */
const OLD = [
  'canWatchFieldModification',
  'canWatchFieldAccess',
  'canGetBytecodes',
  'canGetSyntheticAttribute',
  'canGetOwnedMonitorInfo',
  'canGetCurrentContendedMonitor',
  'canGetMonitorInfo',
] as const

/** VirtualMachine.CapabilitiesNew. Eleven further bytes are reserved. */
const ALL = [
  ...OLD,
  'canRedefineClasses',
  /** canAddMethod and the next capability are always false since JDK 15. */
  'canAddMethod',
  'canUnrestrictedlyRedefineClasses',
  'canPopFrames',
  'canUseInstanceFilters',
  'canGetSourceDebugExtension',
  'canRequestVMDeathEvent',
  'canSetDefaultStratum',
  'canGetInstanceInfo',
  'canRequestMonitorEvents',
  'canGetMonitorFrameInfo',
  'canUseSourceNameFilters',
  'canGetConstantPool',
  'canForceEarlyReturn',
] as const
const RESERVED = 32 - ALL.length

export type OldCapabilities = { readonly [Name in (typeof OLD)[number]]: boolean }
export type Capabilities = { readonly [Name in (typeof ALL)[number]]: boolean }

export function readOldCapabilities(r: DataReader): OldCapabilities {
  return Object.fromEntries(OLD.map((name) => [name, r.boolean()])) as OldCapabilities
}

export function readCapabilities(r: DataReader): Capabilities {
  const all = Object.fromEntries(ALL.map((name) => [name, r.boolean()])) as Capabilities
  r.bytes(RESERVED)
  return all
}
