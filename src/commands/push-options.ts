// Options that say to which store a profile goes, and what it is filed under.

import type { Command } from 'commander'
import { EX_USAGE, JfluidError } from '../base/errors.ts'
import { parseNaming } from '../push/identity.ts'
import type { Push } from '../push/push.ts'
import { credentials, isOpen, parseStore } from '../push/store.ts'

/** What a store is told says nothing without one. */
export class OnlyForPush extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint: string
  constructor(option: string) {
    super(`${option} says what a pushed profile is filed under, and there is no --push`)
    this.hint = `Add --push <url>, or leave ${option} out.`
  }
}

export interface PushFlags {
  readonly to?: string | undefined
  readonly pushName?: string | undefined
  readonly label?: readonly string[] | undefined
}

/** Adds the options that name what is pushed. */
export function withPushFlags(command: Command): Command {
  return command
    .option(
      '--push-name <service>',
      'the service that the pushed profile is filed under; the main class otherwise',
    )
    .option(
      '--label <name=value>',
      'a label of the pushed profile, beside pid and mode, which an empty value leaves out; repeatable',
      (value: string, before: readonly string[] = []) => [...before, value],
    )
}

/**
 * @returns null if nothing is to be pushed
 * @throws OnlyForPush, BadPushUrl, BadPushName, BadLabel, BadPushCredentials
 */
export function pushOf({ to, pushName, label }: PushFlags, env: NodeJS.ProcessEnv): Push | null {
  const naming = parseNaming(pushName, label ?? [])
  if (to !== undefined) return { store: parseStore(to), naming, credentials: credentials(env) }
  if (pushName !== undefined) throw new OnlyForPush('--push-name')
  if (label !== undefined) throw new OnlyForPush('--label')
  return null
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
