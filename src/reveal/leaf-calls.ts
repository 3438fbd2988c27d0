// JDK calls that are known to run no application code.
//
// The JDK is not analysed. So before a call into the JDK, every application method that the JDK may call back must be
// instrumented. The calls in this table call nothing back, so they need none of this work. The table is
// intentionally short. An entry for an overridable method must be true for every override inside the JDK, so
// interfaces (List, Map, Iterator) have no entries: `Iterator.next` may belong to a stream or a
// ServiceLoader. An entry names the class to which a call resolves, and also holds for subclasses of this class in the JDK.
//
// There is no level for calls that call back only toString() or equals(). A call that only prints or compares can call back more:
// a JDK object may contain application objects (functions in a Comparator, the handler of a proxy or
// of a URL), and an exception's toString() calls getMessage().
//
// The levels are ordered. A level that is too high selects methods unnecessarily; a level that is too low loses calls.

/** Gate levels: how much application code a call into excluded code can reach. With GATE_CLOSED, the call can reach none. */
export const GATE_CLOSED = 0
/** The call can reach all overrides of methods of JDK types: JDK code names no other methods. */
export const GATE_FULL = 1
/** The call can reach all overrides of methods of excluded types. This level is for code that cannot be read. */
export const GATE_ANY = 2

const EXCEPTIONS =
  `Throwable Exception Error RuntimeException ArithmeticException ArrayIndexOutOfBoundsException
  AssertionError ClassCastException ClassNotFoundException CloneNotSupportedException
  IllegalArgumentException IllegalMonitorStateException IllegalStateException IndexOutOfBoundsException
  InterruptedException MatchException NegativeArraySizeException NullPointerException
  NumberFormatException SecurityException StackOverflowError OutOfMemoryError
  StringIndexOutOfBoundsException UnsupportedOperationException`.split(/\s+/)
const UTIL_EXCEPTIONS = ['ConcurrentModificationException', 'EmptyStackException', 'NoSuchElementException']
const IO_EXCEPTIONS = ['EOFException', 'FileNotFoundException', 'IOException']

// `name` stands for every overload, `name(parameters)` for one overload, `*` for every method.
const EXCEPTION_INIT =
  '<init>() <init>(Ljava/lang/String;) <init>(I) <init>(Ljava/lang/String;Ljava/lang/Throwable;) <init>(Ljava/lang/String;Ljava/lang/Throwable;ZZ)'
const BOX = 'valueOf toString hashCode equals compareTo compare <init> parse'
const NUMBER = 'byteValue shortValue intValue longValue floatValue doubleValue'
const ATOMIC_NUMBER =
  '<init> get set lazySet getAndSet compareAndSet weakCompareAndSet weakCompareAndSetVolatile getAndIncrement getAndDecrement getAndAdd incrementAndGet decrementAndGet addAndGet toString intValue longValue floatValue doubleValue getPlain setPlain getOpaque setOpaque getAcquire setRelease length add increment decrement sum reset sumThenReset'

const CLOSED: Readonly<Record<string, string>> = {
  'java/lang/Object': '<init> getClass notify notifyAll wait',
  'java/lang/Math': '*',
  'java/lang/StrictMath': '*',
  'java/lang/String':
    '<init>() <init>([C) <init>([CII) <init>([B) <init>([BII) <init>([III) <init>(Ljava/lang/String;) <init>(Ljava/lang/StringBuilder;) <init>(Ljava/lang/StringBuffer;) ' +
    'length charAt isEmpty isBlank codePointAt codePointBefore codePointCount equals equalsIgnoreCase hashCode compareTo(Ljava/lang/String;) compareToIgnoreCase ' +
    'indexOf lastIndexOf startsWith endsWith substring concat replace(CC) contains(Ljava/lang/String;) trim strip stripLeading stripTrailing stripIndent toString toCharArray toUpperCase toLowerCase ' +
    'intern repeat regionMatches getChars getBytes() valueOf(I) valueOf(J) valueOf(C) valueOf(Z) valueOf(F) valueOf(D) valueOf([C) valueOf([CII) copyValueOf matches split replaceAll replaceFirst',
  'java/lang/StringBuilder':
    '<init>() <init>(I) <init>(Ljava/lang/String;) append(Z) append(C) append(I) append(J) append(F) append(D) append([C) append([CII) append(Ljava/lang/String;) append(Ljava/lang/StringBuffer;) appendCodePoint ' +
    'insert(IZ) insert(IC) insert(II) insert(IJ) insert(IF) insert(ID) insert(I[C) insert(ILjava/lang/String;) delete deleteCharAt replace reverse setLength setCharAt ensureCapacity trimToSize capacity length charAt indexOf lastIndexOf substring toString isEmpty',
  'java/lang/StringBuffer':
    '<init>() <init>(I) <init>(Ljava/lang/String;) append(Z) append(C) append(I) append(J) append(F) append(D) append([C) append([CII) append(Ljava/lang/String;) appendCodePoint ' +
    'insert(IC) insert(II) insert(ILjava/lang/String;) delete deleteCharAt replace reverse setLength setCharAt ensureCapacity capacity length charAt indexOf lastIndexOf substring toString isEmpty',
  'java/lang/Boolean': `${BOX} booleanValue parseBoolean logicalAnd logicalOr logicalXor`,
  'java/lang/Character': `${BOX} charValue getNumericValue isDigit isLetter isLetterOrDigit isWhitespace isSpaceChar isUpperCase isLowerCase toUpperCase toLowerCase digit forDigit charCount toChars isSurrogate isHighSurrogate isLowSurrogate toCodePoint isAlphabetic isJavaIdentifierStart isJavaIdentifierPart getType`,
  'java/lang/Byte': `${BOX} ${NUMBER} parseByte toUnsignedInt toUnsignedLong`,
  'java/lang/Short': `${BOX} ${NUMBER} parseShort toUnsignedInt toUnsignedLong`,
  'java/lang/Integer': `${BOX} ${NUMBER} parseInt parseUnsignedInt toBinaryString toHexString toOctalString toUnsignedString toUnsignedLong bitCount reverse reverseBytes rotateLeft rotateRight signum highestOneBit lowestOneBit numberOfLeadingZeros numberOfTrailingZeros max min sum compareUnsigned divideUnsigned remainderUnsigned`,
  'java/lang/Long': `${BOX} ${NUMBER} parseLong parseUnsignedLong toBinaryString toHexString toOctalString toUnsignedString bitCount reverse reverseBytes rotateLeft rotateRight signum highestOneBit lowestOneBit numberOfLeadingZeros numberOfTrailingZeros max min sum compareUnsigned divideUnsigned remainderUnsigned`,
  'java/lang/Float': `${BOX} ${NUMBER} parseFloat isNaN isInfinite isFinite floatToIntBits floatToRawIntBits intBitsToFloat max min sum`,
  'java/lang/Double': `${BOX} ${NUMBER} parseDouble isNaN isInfinite isFinite doubleToLongBits doubleToRawLongBits longBitsToDouble max min sum`,
  'java/lang/Enum': '<init> name ordinal equals hashCode compareTo getDeclaringClass',
  'java/lang/Record': '<init>',
  'java/lang/System': 'nanoTime currentTimeMillis arraycopy identityHashCode lineSeparator',
  'java/lang/Thread': 'currentThread onSpinWait yield sleep',
  'java/lang/Class':
    'getName getSimpleName getTypeName desiredAssertionStatus isInstance isArray isInterface isPrimitive isEnum isRecord getComponentType getModifiers getSuperclass cast hashCode',
  'java/util/Objects':
    'requireNonNull(Ljava/lang/Object;) requireNonNull(Ljava/lang/Object;Ljava/lang/String;) isNull nonNull checkIndex checkFromToIndex checkFromIndexSize requireNonNullElse',
  'java/util/ArrayList': '<init>() <init>(I)',
  'java/util/LinkedList': '<init>()',
  'java/util/ArrayDeque': '<init>() <init>(I)',
  'java/util/HashMap': '<init>() <init>(I) <init>(IF)',
  'java/util/LinkedHashMap': '<init>() <init>(I) <init>(IF) <init>(IFZ)',
  'java/util/TreeMap': '<init>()',
  'java/util/HashSet': '<init>() <init>(I) <init>(IF)',
  'java/util/LinkedHashSet': '<init>() <init>(I)',
  'java/util/TreeSet': '<init>()',
  'java/util/BitSet': '*',
  'java/util/concurrent/ConcurrentHashMap': '<init>() <init>(I)',
  'java/util/concurrent/ThreadLocalRandom': 'current',
  'java/util/concurrent/atomic/AtomicInteger': ATOMIC_NUMBER,
  'java/util/concurrent/atomic/AtomicLong': ATOMIC_NUMBER,
  'java/util/concurrent/atomic/AtomicBoolean': ATOMIC_NUMBER,
  'java/util/concurrent/atomic/AtomicIntegerArray': ATOMIC_NUMBER,
  'java/util/concurrent/atomic/AtomicLongArray': ATOMIC_NUMBER,
  'java/util/concurrent/atomic/LongAdder': ATOMIC_NUMBER,
  'java/util/concurrent/atomic/AtomicReference':
    '<init> get set lazySet getAndSet compareAndSet weakCompareAndSet getPlain setPlain getAcquire setRelease',
  ...exceptions('java/lang/', EXCEPTIONS),
  ...exceptions('java/util/', UTIL_EXCEPTIONS),
  ...exceptions('java/io/', IO_EXCEPTIONS),
  'java/io/UncheckedIOException': EXCEPTION_INIT,
}

function exceptions(folder: string, names: readonly string[]): Record<string, string> {
  // getStackTrace and addSuppressed are final or call nothing back. Other methods have no entry, since subclasses may override them.
  return Object.fromEntries(
    names.map((it) => [
      folder + it,
      `${EXCEPTION_INIT}${it === 'Throwable' ? ' fillInStackTrace addSuppressed getSuppressed' : ''}`,
    ]),
  )
}

interface Entry {
  readonly all: boolean
  readonly names: ReadonlySet<string>
}

function compile(table: Readonly<Record<string, string>>): ReadonlyMap<string, Entry> {
  const compiled = new Map<string, Entry>()
  for (const [owner, text] of Object.entries(table)) {
    const names = new Set(text.split(' ').filter((it) => it !== ''))
    compiled.set(owner, { all: names.has('*'), names })
  }
  return compiled
}

const LEAVES = compile(CLOSED)

/**
 * Returns how much application code a call that resolves into the JDK can reach.
 *
 * @param chain  the class named by the call and its superclasses within the JDK
 */
export function gateOf(chain: readonly string[], name: string, descriptor: string): number {
  if (chain[0]?.startsWith('[')) return GATE_CLOSED // an array has only clone() and the methods of Object
  // Object.clone() only copies memory. The clone() of a collection may call hashCode() of its elements.
  if (name === 'clone' && chain[0] === 'java/lang/Object') return GATE_CLOSED
  const parameters = name + descriptor.slice(0, descriptor.indexOf(')') + 1)
  // The entries of superclasses do not apply to constructors, which are not inherited, and to toString(), which most classes override.
  const owners = name === '<init>' || parameters === 'toString()' ? chain.slice(0, 1) : chain
  const isLeaf = owners.some((owner) => {
    const entry = LEAVES.get(owner)
    return entry !== undefined && (entry.all || entry.names.has(name) || entry.names.has(parameters))
  })
  return isLeaf ? GATE_CLOSED : GATE_FULL
}

/** Methods of java/lang/Object that a class may override, without finalize(), which a separate thread calls. */
export const OBJECT_SELECTORS: ReadonlySet<string> = new Set([
  'equals(Ljava/lang/Object;)Z',
  'hashCode()I',
  'toString()Ljava/lang/String;',
  'clone()Ljava/lang/Object;',
])
