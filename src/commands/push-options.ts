// Options for the store of a profile and for its labels.

import { parseLabels } from '../push/identity.ts'
import type { Push } from '../push/push.ts'
import { credentials, isOpen, parseStore } from '../push/store.ts'

/** @throws BadLabel, BadPushUrl, BadPushCredentials */
export function pushTo(address: string, given: readonly string[] = []): Push {
  const labels = parseLabels(given)
  return { store: parseStore(address), labels, credentials: credentials(process.env) }
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
