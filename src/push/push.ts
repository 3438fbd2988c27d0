// Sends a profile to a store, with one retry if the first attempt failed for a temporary reason.

import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Profile } from '../profile/profile.ts'
import { clean } from '../profile/text.ts'
import { redacted, type ValueNumbers } from '../profile/values.ts'
import { PushNotUnderstood, PushUnavailable } from './errors.ts'
import { identityOf, identityText, type Labels } from './identity.ts'
import { OTLP_TYPE, otlpAnswer, otlpRequest } from './otlp.ts'
import { type Answer, BOUNDS, type Bounds, post, type Request, without } from './post.ts'
import { pyroscopeRequest } from './pyroscope.ts'
import { refusal, wordsOf } from './refusal.ts'
import type { Credentials, Store } from './store.ts'

export interface Push {
  readonly store: Store
  readonly labels: Labels
  readonly credentials: Credentials
  /** Numbers that replace the values of the program; absent if the values are sent. */
  readonly redact?: ValueNumbers
}

export interface PushBounds extends Bounds {
  /** Delay before the retry, unless the store requests a longer delay. */
  readonly pauseMs: number
}

const PUSH_BOUNDS: PushBounds = { ...BOUNDS, pauseMs: 1000 }
/** Maximum delay before a retry. If the store requests a longer delay, there is no retry. */
const MAX_RETRY_DELAY_MS = 10_000
const REDIRECTS = 3

/**
 * @param tell  reports progress
 * @param stop  aborts the push
 * @returns the name under which the profile is filed
 * @throws PushNotAllowed, PushHostUnknown, PushUnavailable, PushRefused, PushNotUnderstood
 */
export async function push(
  profile: Profile,
  to: Push,
  tell: (line: string) => void,
  stop: AbortSignal,
  bounds = PUSH_BOUNDS,
): Promise<string> {
  const { store, labels, credentials, redact } = to
  const identity = identityOf(profile, labels)
  const requestOf = store.protocol === 'otlp' ? otlpRequest : pyroscopeRequest
  const draft = requestOf(redact === undefined ? profile : redacted(profile, redact), identity, store.url)
  const whole = {
    ...draft,
    headers: { ...draft.headers, ...credentials.headers },
    body: await made(draft.body, store.shown, stop),
  }
  const said = await twice(() => pushOnce(whole, to, stop, bounds), store, tell, stop, bounds.pauseMs)
  if (said !== null) tell(`${store.shown} says: ${said}`)
  return identityText(identity)
}

/** Generates the body. Lets other tasks run at intervals, which may abort the push: a million contexts take some seconds. */
async function made(body: Iterable<Uint8Array>, shown: string, stop: AbortSignal): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = []
  let next = performance.now() + YIELD_INTERVAL_MS
  for (const piece of body) {
    if (piece.length > 0) pieces.push(piece)
    if (performance.now() < next) continue
    await turn()
    if (stop.aborted) throw new PushUnavailable(shown, 'the push was interrupted', false)
    next = performance.now() + YIELD_INTERVAL_MS
  }
  return pieces
}

const YIELD_INTERVAL_MS = 50

async function twice<T>(
  once: () => Promise<T>,
  { shown }: Store,
  tell: (line: string) => void,
  stop: AbortSignal,
  pauseMs: number,
): Promise<T> {
  try {
    return await once()
  } catch (error) {
    if (!(error instanceof PushUnavailable) || !error.retry) throw error
    const asked = error.afterMs ?? 0
    if (asked > MAX_RETRY_DELAY_MS) throw error
    const pause = Math.max(pauseMs, asked)
    tell(`${error.message}; trying once more in ${pause / 1000} s`)
    await sleep(pause, undefined, { signal: stop }).catch(() => {
      throw new PushUnavailable(shown, 'the push was interrupted', false)
    })
    return await once()
  }
}

/** @returns a further message of the store; null if none */
async function pushOnce(
  first: Request,
  { store, credentials }: Push,
  stop: AbortSignal,
  bounds: Bounds,
): Promise<string | null> {
  const { shown } = store
  const secrets = secretsOf(store, credentials)
  const until = performance.now() + bounds.wholeMs
  let request = first
  for (let redirects = 0; ; redirects++) {
    const answer = await post(request, shown, stop, bounds, until)
    const { status } = answer
    if (status >= 300 && status < 400) {
      request = { ...request, url: redirected(answer, request.url, shown, redirects, secrets) }
      continue
    }
    if (status >= 200 && status < 300) return acknowledged(answer, store, secrets)
    throw refusal(answer, store, credentials, secrets)
  }
}

/**
 * Checks that the answer comes from a store. Many servers answer 200 to any request: a health check, a proxy's default page. Without this
 * check jfluid would report a lost profile as sent. Pyroscope answers 200 without a body (`pkg/ingester/pyroscope/ingest_handler.go`), an
 * OTLP receiver answers with a message.
 *
 * @returns a further message of the store; null if none
 * @throws PushNotUnderstood, PushRefused
 */
function acknowledged(answer: Answer, { protocol, shown }: Store, secrets: readonly string[]): string | null {
  const { status, type, body } = answer
  if (body.length === 0) return null
  if (type === 'text/html') throw new PushNotUnderstood(shown, 'it answered with a web page')
  if (protocol === 'otlp' && type === OTLP_TYPE) return otlpAnswer(body, shown, secrets)
  const own = protocol === 'otlp' ? 'a message of OTLP' : 'no text'
  const what = `HTTP ${status} with ${own} was expected, not with ${type === '' ? 'something else' : clean(without(secrets, type)).slice(0, 60)}`
  throw new PushNotUnderstood(shown, what + wordsOf(answer, secrets))
}

/** Returns all secrets of the request, including those in the address. */
function secretsOf({ url }: Store, { secrets }: Credentials): string[] {
  return [...secrets, url.search.slice(1), ...url.searchParams.values()].filter((text) => text !== '')
}

/**
 * Follows a redirect to the same host only: no other host gets the token. A redirect that turns the POST into a GET (RFC 9110, 15.4) would
 * lose the profile.
 *
 * @throws PushNotUnderstood
 */
function redirected(
  { status, location }: Answer,
  from: URL,
  shown: string,
  before: number,
  secrets: readonly string[],
): URL {
  const to = location === null ? null : URL.canParse(location, from.href) ? new URL(location, from) : null
  if (to === null) throw new PushNotUnderstood(shown, `HTTP ${status} without the address of the redirect`)
  const there = without(secrets, to.origin + to.pathname)
  if (before >= REDIRECTS) throw new PushNotUnderstood(shown, `too many redirects, the last one to ${there}`)
  const isKept = status === 307 || status === 308
  if (to.origin !== from.origin || !isKept) {
    throw new PushNotUnderstood(
      shown,
      `it redirects to ${there}, to which jfluid sends no profile`,
      'Use that address with --push or --to, if you trust it.',
    )
  }
  return to
}
