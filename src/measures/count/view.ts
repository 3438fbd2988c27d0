// Live view texts of mode `count`.

import type { MeasureView } from '../views.ts'

export const count: MeasureView = {
  help: ['own: calls of a context. subtree: calls of the context and of all contexts below it.'],
}
