// What a pushed profile is filed under: the name of a service, and labels.

import type { Profile } from '../profile/profile.ts'
import { BadLabel, BadPushName } from './errors.ts'

export interface Identity {
  readonly service: string
  /** By name, in the order in which they are told. */
  readonly labels: ReadonlyMap<string, string>
}

/** As the user gave it. */
export interface Naming {
  /** Absent: the main class. */
  readonly service?: string
  readonly labels: ReadonlyMap<string, string>
}

/** Letters of a name that Pyroscope takes (its labelset package); OTLP takes any. */
const NAME = /^[\w./-]{1,200}$/
const LABEL = /^[A-Za-z_]\w{0,99}$/
/** In `name{key=value,…}` there is no way to quote; spaces at its ends would go. */
const VALUE = /^(?! )[^,{}\x00-\x1f\x7f-\x9f]{0,500}(?<! )$/
/** Stores give them a meaning of their own. */
const TAKEN = ['service_name', 'profile_id']

/** @throws BadPushName, BadLabel */
export function parseNaming(name: string | undefined, labels: readonly string[]): Naming {
  if (name !== undefined && !NAME.test(name)) throw new BadPushName(name)
  const parsed = new Map<string, string>()
  for (const text of labels) {
    const at = text.indexOf('=')
    if (at < 0) throw new BadLabel(text, 'it has no =')
    const [key, value] = [text.slice(0, at), text.slice(at + 1)]
    if (!LABEL.test(key) || key.startsWith('__'))
      throw new BadLabel(text, 'a store has no label of that name')
    if (TAKEN.includes(key))
      throw new BadLabel(text, `${key} is what the store itself sets; --push-name names the service`)
    if (!VALUE.test(value)) throw new BadLabel(text, 'a store cannot keep that value')
    if (parsed.has(key)) throw new BadLabel(text, 'there are two of that name')
    parsed.set(key, value)
  }
  return { ...(name !== undefined && { service: name }), labels: parsed }
}

/** Which process it was, and what was measured, unless the user says otherwise; one with an empty value is left out. */
export function identityOf({ target, mode }: Profile, { service, labels }: Naming): Identity {
  const all = new Map([['pid', `${target.pid}`], ['mode', mode], ...labels])
  return {
    service: service ?? serviceOf(target.mainClass),
    labels: new Map([...all].filter(([, value]) => value !== '')),
  }
}

/** A class as it is; of a jar its name. */
function serviceOf(mainClass: string): string {
  const name = /\.jar$/i.test(mainClass) ? mainClass.replace(/^.*\//, '').slice(0, -'.jar'.length) : mainClass
  return name.replace(/[^\w./-]/g, '_').slice(0, 200) || 'jvm'
}

/** `shop.Main{pid=4711,mode=exact}`: what Pyroscope reads, and a reader too. */
export function identityText({ service, labels }: Identity): string {
  return `${service}{${[...labels].map(([key, value]) => `${key}=${value}`).join(',')}}`
}
