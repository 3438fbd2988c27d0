// Interprets a store's rejection by its HTTP status and by known messages of Pyroscope. A message about a limit contains no remedy, so
// jfluid adds a hint. The messages are from version 2.2 (pkg/validation/validate.go, pkg/distributor/distributor.go, pkg/pprof/pprof.go).

import { PushNotAllowed, type PushProblem, PushRefused, PushUnavailable } from './errors.ts'
import { type Answer, saidIn } from './post.ts'
import { decode } from './protobuf.ts'
import type { Credentials, Protocol, Store } from './store.ts'

/**
 * Statuses after which the same profile may be sent again. A 500, 502 or 504 may come from a proxy while the store behind it still accepts
 * the profile: Pyroscope would then count the profile twice. An OTLP profile has an id, and OTLP requires a retry for 429, 502, 503 and 504
 * (OTLP 1.11.0, "Retryable Response Codes").
 */
const AGAIN: Readonly<Record<Protocol, readonly number[]>> = {
  pyroscope: [429, 503],
  otlp: [429, 502, 503, 504],
}

/**
 * Start of Pyroscope's message about rejected kinds of values. With OTLP each kind is a profile of its own, accepted or rejected
 * separately, under its own id. Sending the same request again would count the accepted profiles twice.
 */
const IN_PART = 'push series with index'

const SMALLER =
  'Record for a shorter time, or with a smaller --max-contexts, or raise the limit of the server'

const LIMITS: readonly (readonly [said: string, hint: string])[] = [
  [
    'is outside of ingestion window',
    'Pyroscope accepts only profiles that began in the last hour of its clock: record for a shorter time, push immediately, or raise -validation.reject-older-than.',
  ],
  [
    'exceeds the samples count limit',
    `${SMALLER} (-validation.max-profile-stacktrace-samples): each context is a sample.`,
  ],
  ['decompressed size exceeds', `${SMALLER} (-validation.max-profile-size-bytes).`],
  ['exceeds the size limit', `${SMALLER} (-validation.max-profile-size-bytes).`],
  [
    'push rate limit',
    `Try again after a few seconds. If the error persists: ${SMALLER} (-distributor.ingestion-rate-limit-mb).`,
  ],
  [
    'label names; limit',
    'Push with fewer labels, or raise the limit of the server (-validation.max-label-names-per-series).',
  ],
  [
    'Maximum active series limit exceeded',
    'Push with fewer labels: --label pid= omits the label that differs for each process.',
  ],
]

/** Returns the error for an `answer` with a status other than 2xx and 3xx. */
export function refusal(
  answer: Answer,
  { shown, protocol }: Store,
  { isTokenSet }: Credentials,
  secrets: readonly string[],
): PushProblem {
  const { status, afterMs } = answer
  const words = wordsOf(answer, secrets)
  if (status === 401 || status === 403 || status === 407) {
    return new PushNotAllowed(shown, status, words, isTokenSet)
  }
  const said = Buffer.from(messageOf(answer)).toString()
  const isPart = protocol === 'otlp' && said.includes(IN_PART)
  const what = `HTTP ${status}${words}${isPart ? '; it may have accepted other parts of the profile' : ''}`
  const limit = LIMITS.find(([text]) => said.includes(text))?.[1]
  const hint =
    isPart && limit !== undefined
      ? `${limit} Over http:// the server accepts a profile completely or not at all.`
      : limit
  if (status >= 500 || status === 429) {
    return new PushUnavailable(shown, what, !isPart && AGAIN[protocol].includes(status), afterMs, hint)
  }
  return new PushRefused(shown, what, hint ?? HINTS[protocol][status])
}

const HERE = 'Check the address: Pyroscope has /ingest'
const NOT_HERE: Readonly<Record<Protocol, string>> = {
  pyroscope: `${HERE}, a receiver of OTLP profiles /v1development/profiles.`,
  otlp: `${HERE}, a receiver of OTLP /v1development/profiles: a Collector with a pipeline for profiles and --feature-gates=service.profilesSupport.`,
}
const OTHER_VERSION =
  'Read the message of the server. It may expect another version of OTLP profiles: jfluid uses opentelemetry-proto 1.11.0.'

/** Hints keyed by status. */
const HINTS: Readonly<Record<Protocol, Readonly<Record<number, string>>>> = {
  pyroscope: { 404: NOT_HERE.pyroscope, 405: NOT_HERE.pyroscope, 413: `${SMALLER}.` },
  otlp: { 400: OTHER_VERSION, 404: NOT_HERE.otlp, 405: NOT_HERE.otlp, 413: `${SMALLER}.` },
}

/** Returns the store's message after a colon; empty if there is no readable message. */
export function wordsOf(answer: Answer, secrets: readonly string[]): string {
  const text = saidIn(messageOf(answer), secrets)
  return text === '' ? '' : `: ${text}`
}

/**
 * Returns the human-readable message. For an error in the format of OTLP (google.rpc.Status, field 2) or Connect, this is the message
 * field.
 */
function messageOf({ body, type }: Answer): Uint8Array {
  if (type === 'text/html') return new Uint8Array(0)
  if (type.includes('protobuf'))
    return unless(RangeError, new Uint8Array(0), () => bytesIn(decode(body).get(2)))
  const text = Buffer.from(body).toString().trim()
  if (!text.startsWith('{')) return body
  const said = unless(SyntaxError, null, () => JSON.parse(text) as { readonly message?: unknown })
  return typeof said?.message === 'string' ? Buffer.from(said.message) : body
}

function bytesIn([value]: readonly (bigint | Uint8Array)[] = []): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(0)
}

/** Returns `otherwise` if the text is not in the declared format: an answer's content type may be wrong. */
function unless<T>(problem: new () => Error, otherwise: T, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof problem) return otherwise
    throw error
  }
}
