// Options for the store of a profile and for its labels.

import type { Profile } from '../profile/profile.ts'
import { pushedValues, ValueNumbers } from '../profile/values.ts'
import { parseLabels } from '../push/identity.ts'
import type { Push } from '../push/push.ts'
import { credentials, isOpen, parseStore } from '../push/store.ts'

/** Numbers of removed values. All pushes of a command have the same numbers, so that the sessions of --repeat can be compared. */
const NUMBERS = new ValueNumbers()

/**
 * @param redact  whether values of the program are removed
 * @throws BadLabel, BadPushUrl, BadPushCredentials
 */
export function pushTo(address: string, given: readonly string[] = [], redact = false): Push {
  const labels = parseLabels(given)
  const to = { store: parseStore(address), labels, credentials: credentials(process.env) }
  return redact ? { ...to, redact: NUMBERS } : to
}

/** Says that values of the program are sent. */
export function warnAboutValues(
  profile: Profile,
  { redact }: Pick<Push, 'redact'>,
  tell: (line: string) => void,
): void {
  const values = redact === undefined ? pushedValues(profile) : null
  if (values !== null) tell(`${values}; --redact removes them`)
}

/** Warns the user about the store before anything is sent. */
export function warnAboutStore(
  { store, credentials: { isTokenSet } }: Push,
  tell: (line: string) => void,
): void {
  if (store.protocol === 'otlp') {
    tell(
      'OTLP support is experimental: its format for profiles is in development, and a server may expect another version',
    )
  }
  if (isTokenSet && isOpen(store)) {
    tell(`warning: ${store.shown} is not encrypted: the token can be read on the network`)
  }
}
