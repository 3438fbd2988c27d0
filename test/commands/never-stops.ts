// A signal by which no test is stopped.

import type { StopSignal } from '../../src/commands/signals.ts'

export const neverStops: StopSignal = {
  ...{ fired: new Promise(() => {}), signal: null, instead: () => {}, dispose: () => {} },
  aborted: new AbortController().signal,
  part: () => neverStops,
}
