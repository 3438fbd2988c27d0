// Options that say to which store a profile goes, and what it is filed under.

import type { Flags } from '../options/table.ts'
import { parseLabels } from '../push/identity.ts'
import type { Push } from '../push/push.ts'
import { credentials, isOpen, parseStore } from '../push/store.ts'

/** Of `push`, or of `record` with --push for --to. */
export type PushFlags = { readonly [I in 'to' | 'label']?: Flags<'push'>[I] | undefined }

/**
 * @returns null if nothing is to be pushed
 * @throws BadPushUrl, BadLabel, BadPushCredentials
 */
export function pushOf({ to, label = [] }: PushFlags, env: NodeJS.ProcessEnv): Push | null {
  const labels = parseLabels(label)
  return to === undefined ? null : { store: parseStore(to), labels, credentials: credentials(env) }
}

/** What a user should know of a store before anything is sent. */
export function tellOfStore(
  { store, credentials: { isTokenSet } }: Push,
  tell: (line: string) => void,
): void {
  if (store.protocol === 'otlp') {
    tell(
      'pushing by OTLP is experimental: its signal for profiles is in development, and a store may expect another version',
    )
  }
  if (isTokenSet && isOpen(store)) {
    tell(`warning: ${store.shown} is not encrypted, and who listens on the way can read the token`)
  }
}
