// Classes and methods that are never instrumented, even if the filters include them, each with the reason. If the filters include a denied
// class or method, the profile lists it with the reason.

interface Rule {
  readonly classes: RegExp
  /** Names of the denied methods; null if the whole class is denied. */
  readonly methods: ReadonlySet<string> | null
  readonly reason: string
}

/**
 * @param classes  internal names, separated by blanks; `*` matches any suffix
 * @param methods  method names, separated by blanks; without them, the whole classes are denied
 */
function rules(reason: string, classes: string, methods?: string): Rule[] {
  return classes.split(/\s+/).map((it) => ({
    classes: new RegExp(`^${it.replaceAll('$', '\\$').replaceAll('*', '.*')}$`),
    methods: methods === undefined ? null : new Set(methods.split(/\s+/)),
    reason,
  }))
}

const RUNTIME = 'probes use it'

const RULES: readonly Rule[] = [
  ...rules('the profiler itself', 'java/lang/JFluid* java/lang/invoke/JFluid*'),
  ...rules('called by every constructor and empty', 'java/lang/Object', '<init>'),
  ...rules(
    RUNTIME,
    'java/lang/Thread',
    `currentThread currentCarrierThread setCurrentThread scopedValueCache setScopedValueCache threadId getId getName
    isVirtual exit clearReferences yield`,
  ),
  ...rules(
    'schedules virtual threads: a probe in it could deadlock',
    `java/lang/VirtualThread* java/lang/ThreadBuilders* java/lang/BaseVirtualThread
    java/util/concurrent/locks/LockSupport jdk/internal/vm/*`,
  ),
  ...rules(RUNTIME, 'jdk/internal/misc/Unsafe jdk/internal/misc/VM sun/misc/Unsafe'),
  // When a thread first enters a root, the probe itself creates a WeakReference. A probe in its constructor would recurse.
  ...rules(RUNTIME, 'java/lang/ref/WeakReference', '<init>'),
  ...rules(
    'reference handling inside the JVM',
    'java/lang/ref/Reference java/lang/ref/Reference$* java/lang/ref/Finalizer*',
  ),
  ...rules(
    'method handle internals, generated and inlined by the JVM',
    `java/lang/invoke/LambdaForm* java/lang/invoke/MethodHandle* java/lang/invoke/DirectMethodHandle*
    java/lang/invoke/BoundMethodHandle* java/lang/invoke/DelegatingMethodHandle* java/lang/invoke/VarHandle*
    java/lang/invoke/VarForm java/lang/invoke/Invokers* java/lang/invoke/*CallSite`,
  ),
  ...rules('is used by the agent itself', 'sun/instrument/* java/lang/instrument/*'),
  ...rules('flight recorder internals: probes use its clock', 'jdk/jfr/internal/*'),
]

/** Returns the reason why no method of this class is ever instrumented; null if the class is not denied. */
export function deniedClass(className: string): string | null {
  if (!/^(?:java|jdk|sun)\//.test(className)) return null
  return RULES.find((it) => it.methods === null && it.classes.test(className))?.reason ?? null
}

/** Returns the reason why this method is never instrumented although its class is not denied; null if the method is not denied. */
export function deniedMethod(className: string, method: string): string | null {
  if (!className.startsWith('java/')) return null
  return RULES.find((it) => it.methods?.has(method) && it.classes.test(className))?.reason ?? null
}
