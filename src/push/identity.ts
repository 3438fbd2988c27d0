// What a pushed profile is filed under: the name of a service, and labels.

import type { Profile } from '../profile/profile.ts'
import { BadLabel } from './errors.ts'

export interface Identity {
  readonly service: string
  /** By name, in the order in which they are told. */
  readonly labels: ReadonlyMap<string, string>
}

/** As the user gave them; `service_name` names the service in place of the main class. */
export type Labels = ReadonlyMap<string, string>

const SERVICE = 'service_name'
/** Letters of a name that Pyroscope takes (its labelset package); OTLP takes any. */
const NAME = /^[\w./-]{1,200}$/
const LABEL = /^[A-Za-z_]\w{0,99}$/
/** In `name{key=value,…}` there is no way to quote; spaces at its ends would go. */
const VALUE = /^(?! )[^,{}\x00-\x1f\x7f-\x9f]{0,500}(?<! )$/

/** @throws BadLabel */
export function parseLabels(texts: readonly string[]): Labels {
  const labels = new Map<string, string>()
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 0) throw new BadLabel(text, 'it has no =')
    const [key, value] = [text.slice(0, at), text.slice(at + 1)]
    if (!LABEL.test(key) || key.startsWith('__'))
      throw new BadLabel(text, 'a store has no label of that name')
    if (key === 'profile_id') throw new BadLabel(text, `${key} is what the store itself sets`)
    if (key === SERVICE && !NAME.test(value))
      throw new BadLabel(text, 'a service has letters, digits and any of _ - . /, up to 200 of them')
    if (!VALUE.test(value)) throw new BadLabel(text, 'a store cannot keep that value')
    if (labels.has(key)) throw new BadLabel(text, 'there are two of that name')
    labels.set(key, value)
  }
  return labels
}

/** Which process it was, and what was measured, unless the user says otherwise; one with an empty value is left out. */
export function identityOf({ target, mode }: Profile, labels: Labels): Identity {
  const all = new Map([['pid', `${target.pid}`], ['mode', mode], ...labels])
  return {
    service: labels.get(SERVICE) ?? serviceOf(target.mainClass),
    labels: new Map([...all].filter(([key, value]) => key !== SERVICE && value !== '')),
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
