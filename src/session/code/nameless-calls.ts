// JDK methods for reflective calls: no call site names the called method, so a probe in the JDK method reports it.

import { SINCE } from '../../base/jdk-releases.ts'
import type { Task } from './instrumenter.ts'

const HANDLE = 'java/lang/invoke/DirectMethodHandle'
const POINTS = [
  ['java/lang/reflect/Method', 'invoke', '(Ljava/lang/Object;[Ljava/lang/Object;)Ljava/lang/Object;'],
  [
    'java/lang/reflect/Constructor',
    'newInstanceWithCaller',
    '([Ljava/lang/Object;ZLjava/lang/Class;)Ljava/lang/Object;',
  ],
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

/** In newer releases, this method calls newInstanceWithCaller. */
const OLD_POINT = [
  'java/lang/reflect/Constructor',
  'newInstance',
  '([Ljava/lang/Object;)Ljava/lang/Object;',
] as const

/**
 * Returns the tasks for a release. Methods that it lacks are ignored.
 *
 * @param bootClasses  ids of the loaded classes of the bootstrap loader, keyed by internal name
 * @param feature      feature version of the JDK
 */
export function reflectionTasks(bootClasses: ReadonlyMap<string, number>, feature: number): Task[] {
  const points = feature < SINCE.NEW_INSTANCE_WITH_CALLER ? [...POINTS, OLD_POINT] : POINTS
  return points.flatMap(([className, name, descriptor]) => {
    const classId = bootClasses.get(className)
    return classId === undefined
      ? []
      : [{ id: 0, classId, className, name, descriptor, probe: 'reflection' as const }]
  })
}
