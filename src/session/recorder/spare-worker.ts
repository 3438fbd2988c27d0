// The thread that records, started before it is needed.

import { Worker, type WorkerOptions } from 'node:worker_threads'
import { builtFile } from '../../base/package-root.ts'

/**
 * What a worker gets in place of what this process was started with, where it must.
 *
 * A worker inherits all that, such as limits of memory; passed on by name, what concerns the whole process (`--expose-gc`,
 * `--max-old-space-size`) is refused. But with `--input-type`, which goes with `--eval` only, it refuses to be a file.
 */
function ownOptions(): Pick<WorkerOptions, 'execArgv' | 'env'> {
  const { env, execArgv } = process
  const isTyped = execArgv.some((it) => it.startsWith('--input-type'))
  return isTyped || env.NODE_OPTIONS?.includes('--input-type')
    ? { execArgv: [], env: { ...env, NODE_OPTIONS: '' } }
    : {}
}

/** In the build, which is what a recording in tests runs, too. */
export const recorderWorker = (): URL => builtFile('session/recorder/recorder-worker.js')

/** Started, and not yet told what to record. */
let spare: { readonly worker: Worker; readonly url: string } | undefined

/** Starts the thread of the next recorder while something else is waited for. A process that has no other work ends all the same. */
export function preloadRecorder(): void {
  if (spare !== undefined) return
  const url = recorderWorker()
  const worker = startWorker(url)
  worker.on('error', () => {
    if (spare?.worker === worker) spare = undefined
  })
  worker.unref()
  spare = { worker, url: url.href }
}

/** The one that was preloaded, or a new one. */
export function takeWorker(url: URL): Worker {
  const worker = spare?.url === url.href ? spare.worker : startWorker(url)
  spare = undefined
  return worker
}

function startWorker(url: URL): Worker {
  return new Worker(url, { ...ownOptions(), name: 'jfluid-recorder' })
}
