// Labels of a JVM that record --repeat pushes.

import { describe, expect, it } from 'vitest'
import { targetLabels } from '../../src/commands/target-labels.ts'
import { parseLabels } from '../../src/push/identity.ts'

const labels = (environment: Record<string, string>, name?: string, manifest?: string) =>
  Object.fromEntries(targetLabels(new Map(Object.entries(environment)), 'node-3', { name, manifest }))

describe('labels of a JVM', () => {
  it('a JVM without such variables has the name of the machine', () => {
    expect(labels({})).toEqual({ host: 'node-3' })
  })

  it('service and version are those of OpenTelemetry', () => {
    const OTEL_RESOURCE_ATTRIBUTES =
      'service.name=other,service.version=1.4.2,deployment.environment=prod,host.name=a%2Db'
    expect(labels({ OTEL_SERVICE_NAME: 'shop/checkout', OTEL_RESOURCE_ATTRIBUTES })).toEqual({
      service_name: 'shop/checkout',
      version: '1.4.2',
      host: 'a-b',
    })
    expect(labels({ OTEL_RESOURCE_ATTRIBUTES }).service_name).toBe('other')
  })

  it('without OpenTelemetry, the version is the one in the name of the jar', () => {
    expect(labels({}, 'shop-1.4.2-SNAPSHOT.jar').version).toBe('1.4.2-SNAPSHOT')
    expect(labels({}, 'shop.jar').version).toBe(undefined)
  })

  it('the version in the manifest of the jar has priority over its name', () => {
    const manifest =
      'Manifest-Version: 1.0\r\nImplementation-Version: 2.0.1-\r\n rc1\r\n\r\nName: a\r\nX: y\r\n'
    expect(labels({}, 'shop-1.4.jar', manifest).version).toBe('2.0.1-rc1')
    expect(labels({}, 'shop-1.4.jar', 'Manifest-Version: 1.0\n\nImplementation-Version: 9\n').version).toBe(
      '1.4',
    )
  })

  it('a pod has the names that Kubernetes and its downward API give', () => {
    const KUBERNETES_SERVICE_HOST = '10.0.0.1'
    const given = { POD_NAMESPACE: 'shop', NODE_NAME: 'node-7', CONTAINER_NAME: 'app' }
    expect(labels({ KUBERNETES_SERVICE_HOST, HOSTNAME: 'shop-7d9f', ...given })).toEqual({
      host: 'node-7',
      namespace: 'shop',
      pod: 'shop-7d9f',
      container: 'app',
    })
    expect(labels({ KUBERNETES_SERVICE_HOST, HOSTNAME: 'x', POD_NAME: 'shop-1' }).pod).toBe('shop-1')
    expect(labels({ HOSTNAME: 'desk' }).pod).toBe(undefined)
  })

  it('values that a profile server would refuse are changed', () => {
    const odd = labels({ OTEL_SERVICE_NAME: ' shop {a,b}\n', POD_NAME: ' a,b\u0007 ' })
    const texts = Object.entries(odd).map(([name, value]) => `${name}=${value}`)
    expect(() => parseLabels(texts)).not.toThrow()
    expect(odd.pod).toBe('a_b_')
  })
})
