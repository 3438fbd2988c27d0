// A revelation in a line of the debug log.

import { msText, some } from '../base/debug.ts'
import type { MethodTarget } from './method-ids.ts'
import type { Revelation } from './revealer.ts'

/**
 * @param cause  what it came of
 * @param ms     how long that took, class bytes that were fetched included
 */
export function revelationText(cause: string, ms: number, revelation: Revelation): string {
  const { instrument, ready, skipped, reflection } = revelation
  const parts = [
    instrument.length === 0 ? 'no methods' : `${instrument.length} methods: ${some(instrument, methodText)}`,
    ...(ready.length === 0 ? [] : [`${ready.length} ready`]),
    ...(skipped.length === 0
      ? []
      : [
          `left out ${skipped.length}: ${some(skipped, ({ className, method, reason }) => `${methodText({ className, name: method })} (${reason})`)}`,
        ]),
    ...(reflection ? ['reflection is hooked'] : []),
  ]
  return `${cause}, ${msText(ms)}: ${parts.join('; ')}`
}

export function methodText({ className, name }: Pick<MethodTarget, 'className' | 'name'>): string {
  return `${className.replaceAll('/', '.')}.${name}`
}
