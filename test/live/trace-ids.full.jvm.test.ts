// Trace ids of slow calls: programs with two versions each of the libraries that jfluid knows. Each program prints the ids of its
// calls. Needs mvn once.

import { delimiter } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachTarget } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { type Artifact, mavenArtifact } from '../support/maven.ts'

/** First JDK with virtual threads. */
const VIRTUAL_THREADS_JDK = 21
const CALLS = 200

/** The main program. `in` runs code while the library holds a trace id, which it returns. */
const PROGRAM = (body: string) => `
package fix;
public class Traced {
  ${body}
  static void serve(int ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
  static void go(int calls) {
    for (int i = 0; i < calls; i++) {
      boolean slow = i % 10 == 9;
      String id = in(() -> serve(slow ? 150 : 0));
      System.out.println("call " + id);
    }
    serve(500); // without a trace
    System.out.println("done");
  }
  static Thread thread(Runnable run, boolean virtual) throws Exception {
    if (!virtual) return new Thread(run);
    Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
    return (Thread) Class.forName("java.lang.Thread$Builder").getMethod("unstarted", Runnable.class).invoke(builder, run);
  }
  public static void main(String[] args) throws Exception {
    in(() -> serve(0));
    System.out.println("ready");
    new java.io.BufferedReader(new java.io.InputStreamReader(System.in)).readLine();
    Thread thread = thread(() -> go(${CALLS}), args.length > 0);
    thread.start();
    thread.join();
    Thread.sleep(60_000);
  }
}`

const MDC = PROGRAM(`
  static String in(Runnable run) {
    String id = java.util.UUID.randomUUID().toString();
    org.slf4j.MDC.put("user", "u");
    org.slf4j.MDC.put("traceId", id);
    try {
      run.run();
    } finally {
      org.slf4j.MDC.remove("traceId");
    }
    return id;
  }`)

const SPANS = PROGRAM(`
  static final io.opentelemetry.api.trace.Tracer TRACER =
      io.opentelemetry.sdk.trace.SdkTracerProvider.builder().build().get("fix");
  static String in(Runnable run) {
    io.opentelemetry.api.trace.Span span = TRACER.spanBuilder("serve").startSpan();
    try (io.opentelemetry.context.Scope scope = span.makeCurrent()) {
      run.run();
    } finally {
      span.end();
    }
    return span.getSpanContext().getTraceId();
  }`)

const artifact = (coordinates: string, sha256: string): Artifact => ({ coordinates, sha256 })

const SLF4J_1 = artifact(
  'org.slf4j:slf4j-api:1.7.36',
  'd3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0',
)
const SLF4J_2 = artifact(
  'org.slf4j:slf4j-api:2.0.17',
  '7b751d952061954d5abfed7181c1f645d336091b679891591d63329c622eb832',
)

const LIBRARIES: readonly { name: string; program: string; jars: readonly Artifact[] }[] = [
  {
    name: 'logback 1.2',
    program: MDC,
    jars: [
      SLF4J_1,
      artifact(
        'ch.qos.logback:logback-classic:1.2.13',
        '937afb220b91d8a394d78befdbf587c71aeed289d582e2a91e72a7d92172371d',
      ),
      artifact(
        'ch.qos.logback:logback-core:1.2.13',
        '07b1586faf220c05821d0f3ed8e2e417e214c83f40641f76e8a90b134c31ff6b',
      ),
    ],
  },
  {
    name: 'logback 1.5',
    program: MDC,
    jars: [
      SLF4J_2,
      artifact(
        'ch.qos.logback:logback-classic:1.5.20',
        '1228db99e1af602e191a2b142252d8aaf68129e643c19e7f92137ce5f7209ad3',
      ),
      artifact(
        'ch.qos.logback:logback-core:1.5.20',
        '29fe095bb7b7f850907aec3fddeb40c8d399d85e5680e8d3533e3da5d9aae917',
      ),
    ],
  },
  {
    name: 'slf4j 1.7',
    program: MDC,
    jars: [
      SLF4J_1,
      artifact(
        'org.slf4j:slf4j-jdk14:1.7.36',
        '5bf64690af4e59876b8902bb0db3dd39c686a40abfed97d3837eeeec7a2922ac',
      ),
    ],
  },
  {
    name: 'slf4j 2.0',
    program: MDC,
    jars: [
      SLF4J_2,
      artifact(
        'org.slf4j:slf4j-jdk14:2.0.17',
        'ead25c1b15f59db1fb5552b76fe63de4164f0df40024d19287b75dece47ad3be',
      ),
    ],
  },
  {
    name: 'OpenTelemetry 1.32',
    program: SPANS,
    jars: [
      artifact(
        'io.opentelemetry:opentelemetry-api:1.32.0',
        '87ea1366230cf58cc22238f7c90a5e84d3dc4413305968f07e06c540e8fdea6a',
      ),
      artifact(
        'io.opentelemetry:opentelemetry-context:1.32.0',
        'c03d4904780033d4f525e901e18d0b9e40e7a0b8828b05e580e2adafe1455142',
      ),
      artifact(
        'io.opentelemetry:opentelemetry-sdk-common:1.32.0',
        'c7575c999d511c4b43ca2966ffbb123dc1c7581d828bb7487062cacef40c20b2',
      ),
      artifact(
        'io.opentelemetry:opentelemetry-sdk-trace:1.32.0',
        '67742b59070abc018b2204756ab3df73f1736e87771d43af7240120850c7e6ce',
      ),
    ],
  },
  {
    name: 'OpenTelemetry 1.55',
    program: SPANS,
    jars: [
      artifact(
        'io.opentelemetry:opentelemetry-api:1.55.0',
        '387b4bf98631fc2ede9470879a8ff28dd8c5cb2d3dcf5b6ef77f5ee2bdb7b4f1',
      ),
      artifact(
        'io.opentelemetry:opentelemetry-common:1.55.0',
        'fca14bb87309d1193347d179b91c63045fa05a856f1fbeec6ef61c4a7f81b227',
      ),
      artifact(
        'io.opentelemetry:opentelemetry-context:1.55.0',
        'f34a4718b70446ec462703ced5cc2c9ad4c9b7c69dcb41d0f032ba51c625a3dd',
      ),
      artifact(
        'io.opentelemetry:opentelemetry-sdk-common:1.55.0',
        'e28bb83d0ae5a760ba95952daf820180ee7defb0c5783c9d21f9c00ada80020e',
      ),
      artifact(
        'io.opentelemetry:opentelemetry-sdk-trace:1.55.0',
        'e593660b9fad8bfdb5e981ccd392aa030f788d577c55f8bac3b6c4c6dae509bb',
      ),
    ],
  },
]

forEachTarget((jdk) => {
  const threads = jdk.version < VIRTUAL_THREADS_JDK ? ['platform'] : ['platform', 'virtual']
  describe('trace ids of slow calls', () => {
    it.each(LIBRARIES.flatMap((library) => threads.map((kind) => ({ ...library, kind }))))(
      'a slow call of a $kind thread has the trace id that $name holds',
      { timeout: 120_000 },
      async ({ program, jars, kind }) => {
        const files: string[] = []
        for (const jar of jars) files.push(await mavenArtifact(jar))
        const classes = await compileJava(
          jdk,
          { 'fix/Traced': program },
          { options: ['-cp', files.join(delimiter)] },
        )
        const java = startJava(jdk, [
          ...['-cp', [classes, ...files].join(delimiter), 'fix.Traced'],
          ...(kind === 'virtual' ? ['virtual'] : []),
        ])
        await java.line(/^ready/)
        const recording = startRecording(java.pid, '--root', 'fix.Traced.serve', '--slow', '120ms')
        await recording.started
        java.send('go')
        await java.line(/^done/)
        const { slowCalls } = await recording.stop()
        const printed = [...java.stdout().matchAll(/^call (.+)$/gm)].map(([, id]) => id)
        expect(printed).toHaveLength(CALLS)
        // Calls that began before the target knew the threshold have no trace id.
        const known = slowCalls!.slowest.filter((it) => it.traceId !== undefined)
        expect(known.length).toBeGreaterThanOrEqual(2)
        for (const call of known) expect(call.traceId).toBe(printed[call.number - 1])
        const withoutTrace = slowCalls!.slowest.find((it) => it.number === CALLS + 1)
        expect(withoutTrace).toMatchObject({ class: 'fix.Traced', method: 'serve' })
        expect(withoutTrace!.traceId).toBeUndefined()
      },
    )
  })
})
