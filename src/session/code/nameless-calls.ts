// JDK methods for reflective calls: no call site names the called method, so a probe in the JDK method reports it.

import { SINCE } from '../../base/jdk-releases.ts'
import type { Task } from './instrumenter.ts'

const HANDLE = 'java/lang/invoke/DirectMethodHandle'
const CONSTRUCTOR = 'java/lang/reflect/Constructor'
const POINTS = [
  ['java/lang/reflect/Method', 'invoke', '(Ljava/lang/Object;[Ljava/lang/Object;)Ljava/lang/Object;'],
  [HANDLE, 'internalMemberName', '(Ljava/lang/Object;)Ljava/lang/Object;'],
  [HANDLE, 'internalMemberNameEnsureInit', '(Ljava/lang/Object;)Ljava/lang/Object;'],
  [HANDLE, 'constructorMethod', '(Ljava/lang/Object;)Ljava/lang/Object;'],
  [HANDLE, 'internalMemberName', '()Ljava/lang/invoke/MemberName;'], // called when code uses LambdaMetafactory directly
  [
    'java/lang/invoke/MethodHandles$Lookup$ClassDefiner',
    'defineClass',
    '(ZLjava/lang/Object;)Ljava/lang/Class;',
  ],
] as const

/** In newer releases, newInstance calls newInstanceWithCaller, and so does Class.newInstance. */
const NEW_INSTANCE = [CONSTRUCTOR, 'newInstance', '([Ljava/lang/Object;)Ljava/lang/Object;'] as const
const NEW_INSTANCE_WITH_CALLER = [
  CONSTRUCTOR,
  'newInstanceWithCaller',
  '([Ljava/lang/Object;ZLjava/lang/Class;)Ljava/lang/Object;',
] as const

/**
 * Returns the tasks for a release.
 *
 * @param bootClasses  ids of the loaded classes of the bootstrap loader, keyed by internal name
 * @param feature      feature version of the JDK
 */
export function reflectionTasks(bootClasses: ReadonlyMap<string, number>, feature: number): Task[] {
  const isOld = feature < SINCE.NEW_INSTANCE_WITH_CALLER
  return [...POINTS, isOld ? NEW_INSTANCE : NEW_INSTANCE_WITH_CALLER].flatMap(
    ([className, name, descriptor]) => {
      const classId = bootClasses.get(className)
      return classId === undefined
        ? []
        : [{ id: 0, classId, className, name, descriptor, probe: 'reflection' as const }]
    },
  )
}
