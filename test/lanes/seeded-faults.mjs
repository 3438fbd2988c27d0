// The faults of `npm run test:seeded`: ten faults that a change might introduce, spread over the areas of jfluid.

/**
 * @typedef {object} SeededFault
 * @property {string} name
 * @property {string} file
 * @property {string} find  text that occurs once in the file
 * @property {string} put   text that replaces `find`; the file still compiles
 * @property {RegExp} by    the tests that have to fail, as "file > title", or "Class.method" of the Java tests
 * @property {readonly string[]} [live]  files of the live lanes to run if `npm test` does not find the fault
 */

/** @type {readonly SeededFault[]} */
export const SEEDED_FAULTS = [
  {
    name: 'the sign of t_O',
    file: 'src/base/compensation.ts',
    find: '- callsOut * c.outerTicks\n}',
    put: '+ callsOut * c.outerTicks\n}',
    by: /^test\/cct\/snapshot\.test\.ts > overhead compensation/,
  },
  {
    name: 'an exit that is missing leaves the caller below its callee',
    file: 'src/cct/thread-stack.ts',
    find: '        this.node = ints[node * INTS + PARENT]\n        return\n',
    put: '        this.node = node\n        return\n',
    by: /^test\/cct\/builder\.test\.ts > frames whose exit event was lost/,
  },
  {
    name: 'a chunk of the ring is not given back once it was read',
    file: 'src/events/ring-reader.ts',
    find: '    this.#ring.free(chunk, used)\n',
    put: '    void used\n',
    by: /^test\/events\/ring-reader\.test\.ts > .* > the reader returns a full chunk/,
  },
  {
    name: 'a method that throws has no exit probe',
    file: 'src/instrument/method.ts',
    find: 'const handlers = this.#thrown.length === 0 ? [] :',
    put: 'const handlers = this.#thrown.length >= 0 ? [] :',
    by: /^test\/instrument\/method\.test\.ts > a method with probes > .* for exceptions/,
  },
  {
    name: 'a root that was never called ends with exit code 0',
    file: 'src/commands/outcome.ts',
    find: '  readonly exitCode = EX_NOROOT\n',
    put: '  readonly exitCode = EX_NOROOT - EX_NOROOT\n',
    by: /^test\/commands\/outcome\.test\.ts > the exit status of a recording/,
  },
  {
    name: 'a user of another group is let into a JVM',
    file: 'src/attach/admission.ts',
    find: 'client.uid !== process.euid || client.gid !== process.egid',
    put: 'client.uid !== process.euid && client.gid !== process.egid',
    by: /^test\/attach\/admission\.test\.ts > an attach is refused > .* in different groups/,
  },
  {
    name: 'a profile with a wrong checksum is read',
    file: 'src/profile/file.ts',
    find: 'if (crc32(body) !== file.readUInt32LE(OFFSET_CRC))',
    put: 'if (crc32(body) < file.readUInt32LE(OFFSET_CRC) - 2 ** 32)',
    by: /^test\/profile\/file\.test\.ts > .* > a file with any changed bit/,
  },
  {
    name: 'a detach restores nothing',
    file: 'backend-java/agent/jfluid/agent/Leaving.java',
    find: '            int[] restored = hotSwap.restore();\n',
    put: '            int[] restored = {0, 0, 0};\n',
    by: /^test\/live\/main-job\.smoke\.jvm\.test\.ts > .* > (attach shows|a client that is killed)/,
  },
  {
    name: 'a first call waits for the client without a bound',
    file: 'backend-java/runtime/java/lang/JFluid1Client.java',
    find: 'ANSWER_TIMEOUT_NANOS = 1_000_000_000L;',
    put: 'ANSWER_TIMEOUT_NANOS = 1_000_000_000_000_000L;',
    by: /^JFluid1RequestsTest\.eachUnansweredWaitHalvesTheNext$/,
  },
  {
    name: 'the proof of a detach compares nothing',
    file: 'src/session/proof.ts',
    find: 'different[suspect]!.push(selector)\n',
    put: 'different[suspect]!.includes(selector)\n',
    by: /^test\/live\/proof\.jvm\.test\.ts > .* > a failed restoration is detected/,
    live: ['test/live/proof.jvm.test.ts'],
  },
]
