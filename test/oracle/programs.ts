// Real programs that do the same in each run: programs/<name>.java uses one library in a typical way, and Driver.java runs it in a
// long-lived JVM. Versions are fixed by checksums.

import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { type Artifact, mavenArtifact } from '../support/maven.ts'

export interface Program {
  /** Class of the workload in package `programs`. */
  readonly name: string
  readonly title: string
  readonly libraries: readonly Artifact[]
  /** Reason why the first run in a JVM varies, if it does. */
  readonly firstRunVaries?: string
  /** Newest JDK on which the program runs, if it does not run on all. */
  readonly newestJdk?: number
  /** Methods that are not compared. */
  readonly notCompared?: { readonly methods: RegExp; readonly why: string }
  /** Calls that are left out with all calls below them when JDK classes are compared. */
  readonly cutWithJdk?: readonly Cut[]
  /** Whether its calls depend on identity hash codes. These differ between runs unless the JVM makes all of them equal. */
  readonly usesIdentityHash?: boolean
  /**
   * Whether some of its method handles reach their 127th call, at which the JDK generates new code for them. A JVM option disables this.
   */
  readonly wearsHandles?: boolean
}

export interface Cut {
  readonly methods: RegExp
  /** The nearest caller that is not left out. */
  readonly callers: RegExp
  readonly why: string
}

/** Returns the JVM options for the agent's run and for jfluid's run. */
export function vmOptions({ usesIdentityHash, wearsHandles }: Program): string[] {
  return [
    ...(usesIdentityHash ? ['-XX:+UnlockExperimentalVMOptions', '-XX:hashCode=2'] : []),
    ...(wearsHandles ? ['-Djava.lang.invoke.MethodHandle.CUSTOMIZE_THRESHOLD=-1'] : []),
  ]
}

export const DRIVER = 'programs.Driver'
export const ROOT = `${DRIVER}.task`

const sources = join(dirname(fileURLToPath(import.meta.url)), 'programs')

/** Compiles the program and returns its class path. */
export async function compileProgram(jdk: Jdk, { name, libraries }: Program): Promise<string> {
  const jars = (await Promise.all(libraries.map((it) => mavenArtifact(it)))).join(':')
  const files = ['Driver', name].map((it) => join(sources, `${it}.java`))
  const classes = await compileJava(jdk, {}, { options: [...(jars ? ['-cp', jars] : []), ...files] })
  return jars ? `${classes}:${jars}` : classes
}

export const PROGRAMS: readonly Program[] = [
  {
    name: 'Sql',
    title: 'H2: SQL in memory',
    usesIdentityHash: true, // of data types: their hexadecimal digits are keys of a map (TransactionStore.registerDataType)
    libraries: [
      {
        coordinates: 'com.h2database:h2:2.2.224',
        sha256: 'b9d8f19358ada82a4f6eb5b174c6cfe320a375b5a9cb5a4fe456d623e6e55497',
      },
    ],
  },
  {
    name: 'Json',
    title: 'Jackson: JSON and objects',
    usesIdentityHash: true, // of classes, in its maps of serializers
    wearsHandles: true,
    libraries: [
      {
        coordinates: 'com.fasterxml.jackson.core:jackson-databind:2.17.2',
        sha256: 'c04993f33c0f845342653784f14f38373d005280e6359db5f808701cfae73c0c',
      },
      {
        coordinates: 'com.fasterxml.jackson.core:jackson-core:2.17.2',
        sha256: '721a189241dab0525d9e858e5cb604d3ecc0ede081e2de77d6f34fa5779a5b46',
      },
      {
        coordinates: 'com.fasterxml.jackson.core:jackson-annotations:2.17.2',
        sha256: '873a606e23507969f9bbbea939d5e19274a88775ea5a169ba7e2d795aa5156e1',
      },
    ],
  },
  {
    name: 'Collections',
    title: 'Guava: collections, cache, bus',
    libraries: [
      {
        coordinates: 'com.google.guava:guava:33.2.1-jre',
        sha256: '452b2d9787b7d366fa8cf5ed9a1c40404542d05effa7a598da03bbbbb76d9f31',
      },
      {
        coordinates: 'com.google.guava:failureaccess:1.0.2',
        sha256: '8a8f81cf9b359e3f6dfa691a1e776985c061ef2f223c9b2c80753e1b458e8064',
      },
    ],
  },
  {
    name: 'Search',
    title: 'Lucene: index and search',
    libraries: [
      {
        coordinates: 'org.apache.lucene:lucene-core:9.11.1',
        sha256: 'cb7a9b121bce4ce054ab690ab43ac13ee11ae516d6cef67650130066beee7c9b',
      },
    ],
  },
  {
    name: 'Grammar',
    title: 'ANTLR: grammar and parse',
    usesIdentityHash: true,
    libraries: [
      {
        coordinates: 'org.antlr:antlr4:4.13.1',
        sha256: 'ce261dce69525839aa9fc5bd232ce1b813a7a40a75030713cc4a80ef8170f3d5',
      },
      {
        coordinates: 'org.antlr:antlr4-runtime:4.13.1',
        sha256: '54665d2838cc66458343468efc539e454fc95b46a8a04b13c6ac43fc9be63505',
      },
      {
        coordinates: 'org.antlr:ST4:4.3.4',
        sha256: 'f927ac384c46d749f8b5ec68972a53aed21e00313509299616edb73bfa15ff33',
      },
      {
        coordinates: 'org.antlr:antlr-runtime:3.5.3',
        sha256: '68bf9f5a33dfcb34033495c587e6236bef4e37aa6612919f5b1e843b90669fb9',
      },
      {
        coordinates: 'org.abego.treelayout:org.abego.treelayout.core:1.0.3',
        sha256: 'fa5e31395c39c2e7d46aca0f81f72060931607b2fa41bd36038eb2cb6fb93326',
      },
      {
        coordinates: 'com.ibm.icu:icu4j:72.1',
        sha256: '3df572b240a68d13b5cd778ad2393e885d26411434cd8f098ac5987ea2e64ce3',
      },
    ],
  },
  {
    name: 'Script',
    title: 'Rhino: JavaScript',
    notCompared: {
      methods: /DefiningClassLoader\.loadClass\(/,
      why: 'called by the JVM, on our thread if a redefinition links the class first',
    },
    cutWithJdk: [
      {
        methods: /^java\.lang\.(?:String\.equals|reflect\.Method\.getName)\(/,
        callers: /ScriptableObject\.buildClassCtor\(/,
        why: 'it looks through getDeclaredMethods(), which is in no order, until it has found one',
      },
    ],
    libraries: [
      {
        coordinates: 'org.mozilla:rhino:1.7.15',
        sha256: '2427fdcbc149ca0a25ccfbb7c71b01f39ad42708773a47816cd2342861766b63',
      },
    ],
  },
  {
    name: 'Mathematics',
    title: 'Commons Math',
    libraries: [
      {
        coordinates: 'org.apache.commons:commons-math3:3.6.1',
        sha256: '1e56d7b058d28b65abd256b8458e3885b674c1d588fa43cd7d1cbb9c7ef2b308',
      },
    ],
  },
  {
    name: 'Pages',
    title: 'PDFBox: write, read, draw',
    libraries: [
      {
        coordinates: 'org.apache.pdfbox:pdfbox:3.0.3',
        sha256: '5be38d2ec81691b05d535eb720de4dc566c5d07e5a04731fa00668d153a8b4a6',
      },
      {
        coordinates: 'org.apache.pdfbox:fontbox:3.0.3',
        sha256: '65690c3f39b04a14d12c17f4998c15186ce877d3e2ec222c708577e3cc028030',
      },
      {
        coordinates: 'org.apache.pdfbox:pdfbox-io:3.0.3',
        sha256: '123ea3187b497c54e661d50c3c867479bf77668ff450e50710c658f2bb4687ba',
      },
      {
        coordinates: 'commons-logging:commons-logging:1.3.4',
        sha256: 'bc2dfe32f1ef06509e6a065144c1adf7b420eabf11a87f30bd127f8faa332016',
      },
    ],
  },
  {
    name: 'Compile',
    title: 'Janino: compile and run',
    libraries: [
      {
        coordinates: 'org.codehaus.janino:janino:3.1.12',
        sha256: '5699878c31e71c9a94cf472f95a2dad52ca7b0449c099276b8bd7e992a43595b',
      },
      {
        coordinates: 'org.codehaus.janino:commons-compiler:3.1.12',
        sha256: '17ea25d860225f4b59d0a512b4995f2e4711bdae5e15736cbcd5f6ce4dda8f7c',
      },
    ],
  },
  {
    name: 'Lisp',
    title: 'Clojure: a script',
    usesIdentityHash: true,
    notCompared: {
      methods: /DynamicClassLoader\.(?:loadClass|findInMemoryClass)\(/,
      why: 'called by the JVM, on our thread if a redefinition links the class first',
    },
    libraries: [
      {
        coordinates: 'org.clojure:clojure:1.11.4',
        sha256: 'fc7ff1b6610d0e3494a75cc11ef81810bda402ac157012fe4e3b899586cf4133',
      },
      {
        coordinates: 'org.clojure:spec.alpha:0.3.218',
        sha256: '67ec898eb55c66a957a55279dd85d1376bb994bd87668b2b0de1eb3b97e8aae0',
      },
      {
        coordinates: 'org.clojure:core.specs.alpha:0.2.62',
        sha256: '06eea8c070bbe45c158567e443439681bc8c46e9123414f81bfa32ba42d6cbc8',
      },
    ],
  },
  {
    name: 'Groove',
    title: 'Groovy: a script',
    newestJdk: 24, // the program reads class files of the JDK, but cannot read version 69
    usesIdentityHash: true,
    notCompared: {
      methods:
        /GroovyClassLoader(?:\$InnerLoader)?\.(?:loadClass|getClassCacheEntry|isRecompilable)\(|UnlimitedConcurrentCache\.get\(|CachedMethod\.(?:compareTo|compareToCachedMethod|getName)\(/,
      why: 'called by the JVM, on our thread if a redefinition links the class first; or by sorting as below',
    },
    cutWithJdk: [
      {
        methods: /^java\.util\.Arrays\.sort\(/,
        callers: /^java\.util\.ArrayList\.sort\(/,
        why: 'it sorts what getDeclaredMethods() returns, which is in no order',
      },
    ],
    firstRunVaries:
      'it sorts what getDeclaredMethods() returns, which is in no order, and later runs do some of it',
    libraries: [
      {
        coordinates: 'org.apache.groovy:groovy:4.0.24',
        sha256: '38db8aa6f48b96aa11dd75745b96ab2991ddc9a09f5f3840fae704b84a588867',
      },
    ],
  },
  {
    name: 'Templates',
    title: 'FreeMarker and SnakeYAML',
    usesIdentityHash: true, // the name of each Yaml contains its hash code
    libraries: [
      {
        coordinates: 'org.freemarker:freemarker:2.3.33',
        sha256: 'ab829182363e747a1530a368436242f4cca7ff309dd29bfca638a1fdc7b6771d',
      },
      {
        coordinates: 'org.yaml:snakeyaml:2.3',
        sha256: '63a76fe66b652360bd4c2c107e6f0258daa7d4bb492008ba8c26fcd230ff9146',
      },
    ],
  },
  {
    name: 'Stylesheet',
    title: 'XSLT of the JDK',
    usesIdentityHash: true, // of types, in a map of the XSLT compiler
    cutWithJdk: [
      {
        methods: /^java\.lang\.String\.equals\(/,
        callers: /ImmutableCollections\$MapN\.probe\(/,
        why: 'a map of modules by name is not in the same order in each JVM',
      },
    ],
    notCompared: {
      methods: /^die\.verwandlung\./,
      why: 'the agent is not shown the classes that the JDK makes of a stylesheet; we are',
    },
    libraries: [],
  },
  {
    name: 'Javac',
    title: 'javac of the JDK',
    usesIdentityHash: true, // of symbols
    libraries: [],
  },
]
