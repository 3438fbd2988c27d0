// What is never instrumented, whatever the user includes, and why. Published: the profile lists each
// of these it met, with the reason given here.

interface Denied {
  /** Internal class name; a final `*` stands for any rest. */
  readonly classes: string
  /** Only these methods; all of the class if absent. */
  readonly methods?: readonly string[]
  readonly reason: string
}

const RUNTIME = 'the probes run on it'
const VIRTUAL_THREADS = 'schedules virtual threads; a probe here could wait for itself'
const REFERENCES = 'reference handling inside the JVM'
const AGENTS = 'carries the agent itself'
const RECORDER = 'flight recorder internals, whose clock the probes read'
const HANDLES = 'method handle internals, spun and inlined by the JVM'

export const DENY_LIST: readonly Denied[] = [
  { classes: 'java/lang/JFluid*', reason: 'the profiler itself' },
  { classes: 'java/lang/invoke/JFluid*', reason: 'the profiler itself' },
  { classes: 'java/lang/Object', methods: ['<init>'], reason: 'called by every constructor and empty' },
  {
    classes: 'java/lang/Thread',
    methods: [
      'currentThread',
      'currentCarrierThread',
      'setCurrentThread',
      'scopedValueCache',
      'setScopedValueCache',
      'threadId',
      'getId',
      'getName',
      'isVirtual',
      'exit',
      'clearReferences',
      'yield',
    ],
    reason: RUNTIME,
  },
  { classes: 'java/lang/VirtualThread*', reason: VIRTUAL_THREADS },
  { classes: 'java/lang/ThreadBuilders*', reason: VIRTUAL_THREADS },
  { classes: 'java/lang/BaseVirtualThread', reason: VIRTUAL_THREADS },
  { classes: 'java/util/concurrent/locks/LockSupport', reason: VIRTUAL_THREADS },
  { classes: 'jdk/internal/vm/*', reason: VIRTUAL_THREADS },
  { classes: 'jdk/internal/misc/Unsafe', reason: RUNTIME },
  { classes: 'jdk/internal/misc/VM', reason: RUNTIME },
  { classes: 'sun/misc/Unsafe', reason: RUNTIME },
  // A thread that comes into the graph for the first time would come in again, and again.
  { classes: 'java/lang/ref/WeakReference', methods: ['<init>'], reason: RUNTIME },
  { classes: 'java/lang/ref/Reference', reason: REFERENCES },
  { classes: 'java/lang/ref/Reference$*', reason: REFERENCES },
  { classes: 'java/lang/ref/Finalizer*', reason: REFERENCES },
  { classes: 'java/lang/invoke/LambdaForm*', reason: HANDLES },
  { classes: 'java/lang/invoke/MethodHandle*', reason: HANDLES },
  { classes: 'java/lang/invoke/DirectMethodHandle*', reason: HANDLES },
  { classes: 'java/lang/invoke/BoundMethodHandle*', reason: HANDLES },
  { classes: 'java/lang/invoke/DelegatingMethodHandle*', reason: HANDLES },
  { classes: 'java/lang/invoke/VarHandle*', reason: HANDLES },
  { classes: 'java/lang/invoke/VarForm', reason: HANDLES },
  { classes: 'java/lang/invoke/Invokers*', reason: HANDLES },
  { classes: 'java/lang/invoke/*CallSite', reason: HANDLES },
  { classes: 'sun/instrument/*', reason: AGENTS },
  { classes: 'java/lang/instrument/*', reason: AGENTS },
  { classes: 'jdk/jfr/internal/*', reason: RECORDER },
]

interface Rule {
  readonly expression: RegExp
  readonly methods: ReadonlySet<string> | null
  readonly reason: string
}

const RULES: readonly Rule[] = DENY_LIST.map(({ classes, methods, reason }) => ({
  expression: new RegExp(`^${classes.replaceAll('$', '\\$').replaceAll('*', '.*')}$`),
  methods: methods === undefined ? null : new Set(methods),
  reason,
}))

/** Why no method of the class is ever instrumented, or null. */
export function deniedClass(className: string): string | null {
  if (!/^(?:java|jdk|sun)\//.test(className)) return null
  return RULES.find((it) => it.methods === null && it.expression.test(className))?.reason ?? null
}

/** Why this method of a class that is not denied is never instrumented, or null. */
export function deniedMethod(className: string, method: string): string | null {
  if (!className.startsWith('java/')) return null
  return RULES.find((it) => it.methods?.has(method) && it.expression.test(className))?.reason ?? null
}
