// Live view texts of mode `count`.

import type { MeasureView } from '../views.ts'

export const count: MeasureView = {
  help: ['subtree is the calls of a context and of all below it, own those of the context.'],
}
