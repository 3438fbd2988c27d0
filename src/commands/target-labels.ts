// Labels of a JVM for profile servers: the names under which its owner knows it. They come from the environment of its process, which
// follows the conventions of OpenTelemetry and Kubernetes, and from its jar.

import { hostname } from 'node:os'
import { readTargetFacts } from '../attach/target-facts.ts'
import { readEnvironment } from '../attach/target-process.ts'
import { textInZip } from '../attach/zip-text.ts'
import { linkOf, namesIn } from '../base/visible.ts'

type Environment = ReadonlyMap<string, string>

interface Jar {
  readonly name?: string | undefined
  /** Text of META-INF/MANIFEST.MF. */
  readonly manifest?: string | undefined
}

const MAX_MANIFEST_BYTES = 1 << 16

/** Reads the labels of a running JVM. An unreadable fact is absent. */
export function readTargetLabels(pid: number): Map<string, string> {
  const name = jarOf(pid)
  const manifest = name === undefined ? undefined : manifestOf(pid, name)
  return targetLabels(readEnvironment(pid), hostname(), { name, manifest })
}

/**
 * Returns the labels: service_name, version, host, namespace, pod, container.
 *
 * @param host     name of this machine; in a container, its host name
 * @param jar   file name and manifest of the JVM's jar, if it runs a jar
 */
export function targetLabels(environment: Environment, host: string, jar: Jar = {}): Map<string, string> {
  const resource = resourceAttributes(environment.get('OTEL_RESOURCE_ATTRIBUTES') ?? '')
  const isInKubernetes = environment.has('KUBERNETES_SERVICE_HOST')
  const first = (...values: readonly (string | undefined)[]): string =>
    cleanValue(values.find((it) => it !== undefined && it !== '') ?? '')
  const labels: [name: string, value: string][] = [
    [
      'service_name',
      first(environment.get('OTEL_SERVICE_NAME'), resource.get('service.name')).replace(/[^\w./-]/g, '_'),
    ],
    [
      'version',
      first(resource.get('service.version'), versionInManifest(jar.manifest), versionInName(jar.name)),
    ],
    ['host', first(resource.get('host.name'), environment.get('NODE_NAME'), host)],
    ['namespace', first(resource.get('k8s.namespace.name'), environment.get('POD_NAMESPACE'))],
    [
      'pod',
      first(
        resource.get('k8s.pod.name'),
        environment.get('POD_NAME'),
        isInKubernetes ? environment.get('HOSTNAME') : undefined,
      ),
    ],
    ['container', first(resource.get('k8s.container.name'), environment.get('CONTAINER_NAME'))],
  ]
  return new Map(labels.filter(([, value]) => value !== ''))
}

/** Parses OTEL_RESOURCE_ATTRIBUTES: pairs key=value, separated by commas, with values in percent-encoding (W3C Baggage). */
function resourceAttributes(text: string): Map<string, string> {
  const attributes = new Map<string, string>()
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=')
    if (at > 0) attributes.set(pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim()))
  }
  return attributes
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns Implementation-Version of the main section. A line may continue after a line end and a blank (JAR File Specification). */
function versionInManifest(manifest = ''): string | undefined {
  const [main = ''] = manifest.replace(/\r\n?|\n/g, '\n').split('\n\n')
  return /^Implementation-Version: *(.*)$/im.exec(main.replaceAll('\n ', ''))?.[1]?.trim()
}

/** Returns the version in the name of a jar: shop-1.4.2-SNAPSHOT.jar has 1.4.2-SNAPSHOT. */
function versionInName(jarName: string | undefined): string | undefined {
  return /-(\d[\w.+-]*)\.jar$/i.exec(jarName ?? '')?.[1]
}

/** Replaces characters that profile servers refuse in the value of a label. */
function cleanValue(text: string): string {
  return text
    .replace(/[,{}\x00-\x1f\x7f-\x9f]/g, '_')
    .trim()
    .slice(0, 200)
}

function jarOf(pid: number): string | undefined {
  const command = readTargetFacts(pid)?.process.commandLine ?? []
  const at = command.indexOf('-jar')
  return at < 0 ? undefined : command[at + 1]?.replace(/^.*\//, '')
}

/** Reads the manifest through the JVM's own open file, so that it is found in containers and after an update of the file. */
function manifestOf(pid: number, name: string): string | undefined {
  const directory = `/proc/${pid}/fd`
  const isJar = (fd: string): boolean => {
    const file = linkOf(`${directory}/${fd}`)?.replace(/ \(deleted\)$/, '')
    return file?.endsWith(`/${name}`) === true
  }
  const found = namesIn(directory)?.find(isJar)
  if (found === undefined) return undefined
  try {
    return textInZip(`${directory}/${found}`, 'META-INF/MANIFEST.MF', MAX_MANIFEST_BYTES)
  } catch {
    return undefined // the file is damaged, or the JVM has ended
  }
}
