// What keys of the live view change in a session: its roots, what is left out, and what is added.

import type { Profile } from '../profile/profile.ts'
import { isWait } from '../profile/text.ts'
import { parseRoot, readableParameters } from '../reveal/patterns.ts'
import type { Session } from '../session/session.ts'
import { SNAPSHOT } from '../tui/keeper.ts'
import type { Extent, Steering } from '../tui/steering.ts'
import { nameNow } from './keeper.ts'
import { keepIn } from './place.ts'

/** @param directory  where a profile goes that would be lost otherwise */
export function sessionSteering(session: Session, directory: string): Steering {
  const keep = (profile: Profile) => keepIn(directory, nameNow(session.pid, SNAPSHOT.extension), profile)
  return {
    get generation() {
      return session.generation
    },
    get byHand() {
      return session.byHand.map(({ what, text, atMs, methods, below }) => ({
        ...{ what, text, atMs },
        methods: methods.size,
        below: below.size,
      }))
    },
    isLeftOut: (id) => session.isLeftOut(id),
    textOf: (id, extent) => textOf(session, id, extent),
    async changeRoot(text, onPhase) {
      await session.changeRoots([parseRoot(text)], onPhase, keep)
      return `recorded from zero: ${text}`
    },
    async leaveOut(text) {
      const { methods, below } = await session.exclude(text)
      if (methods.size === 0)
        return `${text} matches no method with probes yet; what is loaded later gets none`
      const many = methods.size === 1 && text.includes('(') ? '' : ` ${counted(methods.size)} of`
      const more = below.size === 0 ? '' : `; with it ${counted(below.size)} that only it called`
      return `left out:${many} ${text}${more}`
    },
    async add(text) {
      const { methods } = await session.add(text)
      return methods.size === 0
        ? `nothing of ${text} has been reached yet; what is reached gets probes`
        : `added: ${counted(methods.size)} of ${text}`
    },
    async takeBack(text) {
      const wasAdded = session.byHand.some((it) => it.what === 'add' && it.text === text)
      const methods = await session.takeBack(text)
      const have = methods === 1 ? 'has' : 'have'
      return `${counted(methods)} ${have} ${wasAdded ? 'no probes any more' : 'probes again'}: ${text}`
    },
  }
}

function counted(methods: number): string {
  return methods === 1 ? '1 method' : `${methods} methods`
}

function textOf(session: Session, id: number, extent: Extent): string | null {
  const name = session.methodName(id)
  // Rows of waiting and of what is allocated are no methods.
  if (isWait(name) || name.class === '' || !name.descriptor.startsWith('(')) return null
  switch (extent) {
    case 'method': {
      const method = name.method === '<init>' ? 'new' : name.method
      // Simple names of types will do, and fit on a line.
      const types = readableParameters(name.descriptor).map((it) => it.slice(it.lastIndexOf('.') + 1))
      return `${name.class}.${method}(${types.join(', ')})`
    }
    case 'class':
      return name.class
    case 'package': {
      const dot = name.class.lastIndexOf('.')
      return dot < 0 ? null : `${name.class.slice(0, dot)}.*`
    }
  }
}
