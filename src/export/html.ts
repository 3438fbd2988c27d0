// The whole profile as one HTML file that works offline: flame graph, tree, hot methods, callers, instrumentation.

import type { ExportFormat } from './format.ts'
import { pagePieces } from './html/page.ts'
import { profilePage } from './html/profile-page.ts'

export const html: ExportFormat = {
  name: 'html',
  extension: '.html',
  description: 'one file for a browser, offline: flame graph, tree, hot methods, callers, instrumentation',
  pieces(profile) {
    return pagePieces(profilePage(profile))
  },
}
