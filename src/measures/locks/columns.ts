// Columns of mode `locks`: nanoseconds for which threads were blocked or waiting. Waits have separate rows. The tree also has the columns
// of mode `time`.

import type { Metric } from '../columns.ts'
import { TIME } from '../time/columns.ts'

export const locks: Metric = {
  ...{
    kind: 'waits',
    self: 'selfWaitNs',
    total: 'totalWaitNs',
    word: 'waiting',
    unit: TIME.unit,
    sign: '',
  },
  heads: { total: 'wait', self: 'own wait', perCall: 'per call', calls: 'calls', by: 'waiting time' },
  pageHeads: { total: 'waiting', self: 'own' },
  values: [{ ...TIME, type: 'wait', self: 'selfWaitNs', total: 'totalWaitNs' }, TIME],
  isTime: true,
}
