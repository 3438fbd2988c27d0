// Classifies the stack of a working thread: what the thread does or waits for, and which methods of the application are responsible.

import { isJdkName } from '../../base/jdk-names.ts'
import { getOrAdd } from '../../base/maps.ts'
import { isOfApplication, isUsableRoot } from '../roots/root-names.ts'
import type { SampledStack, ThreadState, WorkSample } from './observed.ts'

/**
 * What a thread does. `pool`: waits in a queue, a semaphore or a condition, as the clients of a connection pool do. `result`: waits for the
 * result of another thread. The other values are thread states.
 */
export type Activity = Exclude<ThreadState, 'wait'> | 'pool' | 'result' | 'wait'

/** The service that the thread uses: a database (also one inside the JVM), an HTTP service, the network, or files. */
export type Service = 'database' | 'HTTP' | 'network' | 'file'

/** A method of the application, or of a library if no application code is on the stack. */
export interface OwnMethod {
  /** `package.Class.method` */
  readonly name: string
  /** Source position in this method, as `File.java:12`; empty if unknown. */
  readonly place: string
}

const RESULTS =
  /^java\.util\.concurrent\.(?:CompletableFuture|FutureTask|ForkJoinTask|ForkJoinPool|CountDownLatch|CyclicBarrier|Phaser|StructuredTaskScope\w*)(?:\$\w+)*\.|^java\.lang\.Thread\.join/
const POOLS =
  /^java\.util\.concurrent\.(?:Semaphore|\w*(?:Queue|Deque)|Exchanger|locks\.AbstractQueued(?:Long)?Synchronizer\$ConditionObject)(?:\$\w+)*\.|^java\.lang\.Object\.wait/
/** Matches methods of a JDBC driver or of a connection pool. Names of classes decide, since an application also has methods such as `executeBatch`. */
const JDBC =
  /Statement\w*(?:\$\w+)*\.execute(?:Query|Update|LargeUpdate|Batch|LargeBatch)?$|ResultSet\w*(?:\$\w+)*\.next$/
/** Matches calls through a proxy of a driver. The name of the proxy class does not show the interface. */
const JDBC_PROXY = /\$Proxy\d+\.execute(?:Query|Update|LargeUpdate|Batch|LargeBatch)$/
const HTTP =
  /(?:^|\.)(?:HttpClient\w*|HttpURLConnection|HttpsURLConnectionImpl|CloseableHttpClient|OkHttpClient|RealCall|RestTemplate|RestClient|WebClient)(?:\$\w+)*\.\w+$/
const FILE =
  /^(?:java\.io\.(?:File\w*Stream|RandomAccessFile|UnixFileSystem)|sun\.nio\.ch\.FileChannelImpl|sun\.nio\.fs\.)/

export function activityOf({ state, stack }: Pick<WorkSample, 'state' | 'stack'>): Activity {
  if (state !== 'wait') return state
  const waiting = stack.frames.slice(0, firstOwn(stack))
  if (waiting.some((it) => HTTP.test(it))) return 'io'
  if (waiting.some((it) => RESULTS.test(it))) return 'result'
  return waiting.some((it) => POOLS.test(it)) ? 'pool' : 'wait'
}

/**
 * Returns the service that the thread uses: it waits for the service's input or output, or runs an embedded database. Undefined if there is
 * none.
 */
export function serviceOf({ frames }: SampledStack, activity: Activity): Service | undefined {
  const http = activity === 'io' ? frames.findIndex((it) => HTTP.test(it)) : -1
  if (activity !== 'lock' && activity !== 'pool') {
    // Some drivers call their database by HTTP. An application's own statement, or a proxy, that calls HTTP is no driver.
    const innermost = http < 0 ? frames : frames.slice(0, http)
    if (frames.some(isOfDriver) || innermost.some(isLikeDriver)) return 'database'
  }
  if (activity !== 'io') return undefined
  if (http >= 0) return 'HTTP'
  return frames.some((it) => FILE.test(it)) ? 'file' : 'network'
}

function isOfDriver(frame: string): boolean {
  return JDBC.test(frame) && !isOwnFrame(frame)
}

/** A driver may be part of the application. The application may also have statements of another kind, which have a method `execute`. */
function isLikeDriver(frame: string): boolean {
  return JDBC_PROXY.test(frame) || (JDBC.test(frame) && !frame.endsWith('.execute'))
}

/** Cache of the own methods, keyed by stack: several samples may have the same stack. */
const known = new WeakMap<SampledStack, readonly OwnMethod[]>()

/**
 * Returns the methods of the application that are on the stack, innermost first. If there are none, returns the methods of libraries.
 * Recursive calls count once.
 */
export function ownMethods(stack: SampledStack): readonly OwnMethod[] {
  return getOrAdd(known, stack, () => findOwn(stack))
}

function findOwn({ frames, places }: SampledStack): OwnMethod[] {
  const own = new Map<string, OwnMethod>()
  const add = (isOwn: (frame: string) => boolean): void => {
    for (const [at, name] of frames.entries())
      if (isOwn(name) && !own.has(name)) own.set(name, { name, place: placeOf(places[at]) })
  }
  add(isOwnFrame)
  if (own.size === 0) add((it) => !isJdkName(it))
  if (own.size === 0) add(() => true)
  return [...own.values()]
}

/** Returns the index of the innermost frame that does not belong to the JDK. */
function firstOwn({ frames }: SampledStack): number {
  const first = frames.findIndex((it) => !isJdkName(it))
  return first < 0 ? frames.length : first
}

function isOwnFrame(frame: string): boolean {
  const dot = frame.lastIndexOf('.')
  const name = { class: frame.slice(0, dot), method: frame.slice(dot + 1), descriptor: '', loader: '' }
  return isOfApplication(name) && isUsableRoot(name)
}

function placeOf(place: string | undefined): string {
  return place !== undefined && /:\d+$/.test(place) ? place : ''
}
