// Public API for programs: `import { attach } from 'jfluid'`. Re-exports only.

export { type Jvm, listJvms as jvms } from './attach/jvms.ts'
export { JfluidError } from './base/errors.ts'
export { costsOf, metricOf } from './cct/metric.ts'
export type { MethodName, ThreadTree, Tree } from './cct/tree.ts'
export { type ExportFormat, exportProfile, formatNamed, formats } from './export/formats.ts'
export {
  Attachment,
  type AttachmentEvents,
  type AttachOptions,
  attach,
  type HotMethodRow,
  type Picture,
} from './library/attachment.ts'
export type { Metric } from './measures/columns.ts'
export { readProfile, writeProfile } from './profile/file.ts'
export { MODES, type Mode, type Profile } from './profile/profile.ts'
export { redacted, ValueNumbers } from './profile/values.ts'
export type { SessionStatus } from './session/session.ts'
