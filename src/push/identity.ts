// Identity under which a store files a profile: the name of a service, and labels.

import type { Profile } from '../profile/profile.ts'
import { BadLabel } from './errors.ts'

export interface Identity {
  readonly service: string
  /** Labels keyed by name, in the order in which they are sent. */
  readonly labels: ReadonlyMap<string, string>
}

/** Labels from the user; `service_name` replaces the main class as the service name. */
export type Labels = ReadonlyMap<string, string>

const SERVICE = 'service_name'
/** Characters that Pyroscope allows in a name (its labelset package). OTLP allows any character. */
const NAME = /^[\w./-]{1,200}$/
const LABEL = /^[A-Za-z_]\w{0,99}$/
/** Valid values of a label. The syntax `name{key=value,…}` has no quoting, and spaces at the ends of a value would be lost. */
const VALUE = /^(?! )[^,{}\x00-\x1f\x7f-\x9f]{0,500}(?<! )$/

/** @throws BadLabel */
export function parseLabels(texts: readonly string[]): Labels {
  const labels = new Map<string, string>()
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 0) throw new BadLabel(text, 'it has no =')
    const [key, value] = [text.slice(0, at), text.slice(at + 1)]
    if (!LABEL.test(key) || key.startsWith('__'))
      throw new BadLabel(text, 'profile servers do not accept this name')
    if (key === 'profile_id') throw new BadLabel(text, `the server itself sets ${key}`)
    if (key === SERVICE && !NAME.test(value))
      throw new BadLabel(text, 'the name of a service has up to 200 letters, digits and characters _ - . /')
    if (!VALUE.test(value)) throw new BadLabel(text, 'profile servers do not accept this value')
    if (labels.has(key)) throw new BadLabel(text, 'two labels have this name')
    labels.set(key, value)
  }
  return labels
}

/** Returns the service name and the labels. The user's labels override `pid` and `mode`. A label with an empty value is omitted. */
export function identityOf({ target, mode }: Profile, labels: Labels): Identity {
  const all = new Map([['pid', `${target.pid}`], ['mode', mode], ...labels])
  return {
    service: labels.get(SERVICE) ?? serviceOf(target.mainClass),
    labels: new Map([...all].filter(([key, value]) => key !== SERVICE && value !== '')),
  }
}

/** Returns the service name: a class name unchanged, a jar's file name without its extension. */
function serviceOf(mainClass: string): string {
  const name = /\.jar$/i.test(mainClass) ? mainClass.replace(/^.*\//, '').slice(0, -'.jar'.length) : mainClass
  return name.replace(/[^\w./-]/g, '_').slice(0, 200) || 'jvm'
}

/** Returns the identity as text in Pyroscope's syntax, such as `shop.Main{pid=4711,mode=exact}`. */
export function identityText({ service, labels }: Identity): string {
  return `${service}{${[...labels].map(([key, value]) => `${key}=${value}`).join(',')}}`
}
