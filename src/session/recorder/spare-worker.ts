// Preloads the recording thread.

import { Worker, type WorkerOptions } from 'node:worker_threads'
import { builtFile } from '../../base/package-root.ts'

/**
 * Returns options for a worker that replace the inherited options of this process, if necessary.
 *
 * A worker inherits the options of the process, such as memory limits. An explicit list of options may not contain options for the whole
 * process (`--expose-gc`, `--max-old-space-size`). With `--input-type`, which is valid with `--eval` only, Node.js refuses to run a worker
 * from a file.
 */
function ownOptions(): Pick<WorkerOptions, 'execArgv' | 'env'> {
  const { env, execArgv } = process
  const isTyped = execArgv.some((it) => it.startsWith('--input-type'))
  return isTyped || env.NODE_OPTIONS?.includes('--input-type')
    ? { execArgv: [], env: { ...env, NODE_OPTIONS: '' } }
    : {}
}

/** Returns the URL of the worker in the build. Tests also use the worker of the build. */
export const recorderWorker = (): URL => builtFile('session/recorder/recorder-worker.js')

/** A started worker that has not received its recording parameters yet. */
let spare: { readonly worker: Worker; readonly url: string } | undefined

/** Starts the worker of the next recorder in advance. This spare worker does not keep the process alive. */
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

/** Returns the preloaded worker, or a new one. */
export function takeWorker(url: URL): Worker {
  const worker = spare?.url === url.href ? spare.worker : startWorker(url)
  spare = undefined
  return worker
}

function startWorker(url: URL): Worker {
  return new Worker(url, { ...ownOptions(), name: 'jfluid-recorder' })
}
