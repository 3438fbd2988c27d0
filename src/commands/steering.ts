// Changes that a user makes to a session by keys of the live view: roots, excluded methods, and added methods.

import { isAllocation } from '../cct/allocation.ts'
import type { MethodName } from '../cct/tree.ts'
import { isWait } from '../profile/text.ts'
import { parseRoot, readableParameters } from '../reveal/patterns.ts'
import type { KeepProfile } from '../session/changed-roots.ts'
import type { Session } from '../session/session.ts'
import { SNAPSHOT } from '../tui/keeper.ts'
import type { Extent, Steering } from '../tui/steering.ts'
import { nameNow } from './file-name.ts'
import { keepIn } from './place.ts'

/** @returns a function that saves a profile in a directory, if the profile would otherwise be lost */
export function keptBeside(pid: number, directory: string): KeepProfile {
  return (profile) => keepIn(directory, nameNow(pid, SNAPSHOT.extension), profile)
}

/** @param keep  saves a profile that would otherwise be lost */
export function sessionSteering(session: Session, keep: KeepProfile): Steering {
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
    textOf: (id, extent) => steeredText(session.methodName(id), extent),
    async changeRoot(text, onPhase) {
      await session.changeRoots([parseRoot(text)], onPhase, keep)
      return `recording restarted from zero: ${text}`
    },
    async leaveOut(text) {
      const { methods, below } = await session.exclude(text)
      if (methods.size === 0)
        return `${text} matches no method with probes yet; classes loaded later get no probes`
      const many = methods.size === 1 && text.includes('(') ? '' : ` ${counted(methods.size)} of`
      const more = below.size === 0 ? '' : `; also ${counted(below.size)} that only it called`
      return `excluded:${many} ${text}${more}`
    },
    async add(text) {
      const { methods } = await session.add(text)
      return methods.size === 0
        ? `no method of ${text} has been reached yet; methods get probes when they are reached`
        : `added: ${counted(methods.size)} of ${text}`
    },
    async costToTime(text) {
      return standsStillText(await session.pauseToTime(text))
    },
    async time(text) {
      return `timed from now on, with rows from zero: ${counted(await session.time(text))} of ${text}`
    },
    async takeBack(text) {
      const wasAdded = session.byHand.some((it) => it.what === 'add' && it.text === text)
      const methods = await session.takeBack(text)
      const have = methods === 1 ? 'has' : 'have'
      return `${counted(methods)} ${have} ${wasAdded ? 'no longer probes' : 'probes again'}: ${text}`
    },
  }
}

function counted(methods: number): string {
  return methods === 1 ? '1 method' : `${methods} methods`
}

function standsStillText(pauseMs: number | null): string {
  if (pauseMs === null) return 'stops the JVM for an unknown time'
  return pauseMs === 0
    ? 'does not stop the JVM'
    : `stops the JVM for about ${Math.max(1, Math.round(pauseMs))} ms`
}

/** Returns the text that identifies a method, its class or its package in a request; null if the name is no method. */
export function steeredText(name: MethodName, extent: Extent): string | null {
  // Rows for waiting time and rows for allocated classes are no methods.
  if (isWait(name) || isAllocation(name) || name.class === '' || name.class === '?') return null
  switch (extent) {
    case 'method': {
      const method = name.method === '<init>' ? 'new' : name.method
      // A sampled frame has no parameter types.
      if (name.descriptor === '') return `${name.class}.${method}`
      // Simple type names are sufficient, and fit on a line.
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
