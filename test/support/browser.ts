// A browser for tests that open exported files. These tests are part of `npm run test:full` and need a browser.

import { existsSync } from 'node:fs'
import type { Browser } from 'playwright-core'

const BROWSERS = [
  ...[process.env.JFLUID_BROWSER, '/usr/bin/chromium', '/usr/bin/chromium-browser'],
  ...['/usr/bin/google-chrome', '/usr/bin/google-chrome-stable'],
]

/** Starts a headless browser. The caller closes the browser. */
export async function startBrowser(...args: string[]): Promise<Browser> {
  const executablePath = BROWSERS.find((path) => path !== undefined && existsSync(path))
  if (executablePath === undefined) {
    throw new Error('test:full opens pages in a browser: install chromium, or set JFLUID_BROWSER')
  }
  const { chromium } = await import('playwright-core')
  return await chromium.launch({ executablePath, args: ['--no-sandbox', ...args] })
}
