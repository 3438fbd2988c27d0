// The JVM keeps the path of the agent jar on its class path forever, but the copy of the jar for a container is deleted at once. Code that
// reads the manifests of all jars on the class path must still work.

import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadAgent } from '../../src/attach/command.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'

const READER = `
package fix;
import java.net.URL;
import java.util.Collections;
import java.util.jar.Manifest;
public class Reader {
  public static void main(String[] args) throws Exception {
    System.out.println("ready");
    while (System.in.read() != -1) {
      int agents = 0;
      String problem = "none";
      for (URL url : Collections.list(ClassLoader.getSystemClassLoader().getResources("META-INF/MANIFEST.MF"))) {
        try (var in = url.openStream()) {
          if (new Manifest(in).getMainAttributes().getValue("Agent-Class") != null) agents++;
        } catch (Exception e) {
          problem = e.toString();
        }
      }
      System.out.println("agents " + agents + ", problem " + problem);
    }
  }
}`

forEachJdk((jdk) => {
  it('code that reads all jars on the class path works after the agent jar was deleted', async () => {
    const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Reader.java': READER }), 'fix.Reader'])
    await java.line(/^ready/)
    const dir = temporaryDirectory()
    const copy = join(dir, 'agent.jar')
    copyFileSync(agentJar().path, copy)
    // No client listens in this directory. The state of the agent does not matter here.
    await loadAgent(await openAttachSocket(java.pid), copy, `jar=${copy};dir=${dir};build=0`)
    rmSync(copy)
    java.send('')
    expect(await java.line(/^agents/)).toBe('agents 1, problem none')
  })
})
