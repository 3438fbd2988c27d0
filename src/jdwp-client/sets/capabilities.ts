// Capabilities of a JVM: one byte each, in this order. If a command needs a capability that the JVM lacks, the JVM answers NOT_IMPLEMENTED.

import type { DataReader } from '../data.ts'

/** Capabilities in the reply of VirtualMachine.Capabilities. These are the first capabilities of CapabilitiesNew. */
const OLD = [
  'canWatchFieldModification',
  'canWatchFieldAccess',
  'canGetBytecodes',
  'canGetSyntheticAttribute',
  'canGetOwnedMonitorInfo',
  'canGetCurrentContendedMonitor',
  'canGetMonitorInfo',
] as const

/** Capabilities in the reply of VirtualMachine.CapabilitiesNew. The reply ends with eleven reserved bytes. */
const ALL = [
  ...OLD,
  'canRedefineClasses',
  /** canAddMethod and the capability after it are always false since JDK 15. */
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
