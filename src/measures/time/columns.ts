// Columns of mode `time`: nanoseconds without the cost of probes. Values may be negative.

import type { Metric, Value } from '../columns.ts'

export const TIME: Value = {
  type: 'time',
  unit: 'nanoseconds',
  self: 'selfNs',
  total: 'totalNs',
}

export const time: Metric = {
  kind: 'time',
  self: TIME.self,
  total: TIME.total,
  word: 'time',
  unit: TIME.unit,
  sign: '',
  heads: { total: 'total', self: 'self', perCall: 'per call', calls: 'calls', by: 'self time' },
  pageHeads: { total: 'total', self: 'self' },
  values: [TIME],
  isTime: true,
  sumsUp: true,
  hasErrorBound: true,
}
