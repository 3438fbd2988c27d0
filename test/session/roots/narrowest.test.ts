// The recommended root. Stacks are listed outermost frame first, shortened from real servers.

import { describe, expect, it } from 'vitest'
import { Looks, rootCandidates } from '../../../src/session/roots/root-candidates.ts'
import { SampledTree } from '../../../src/session/sampling/sampled-tree.ts'

/** Samples: the thread, the stack, and the number of samples. */
type Seen = readonly (readonly [thread: string, stack: string, times: number])[]

/** Returns the recommended root. Each sample is a separate call; `idle` gives the samples between two calls. */
function recommended(seen: Seen, idle: string): string | undefined {
  const tree = new SampledTree()
  const looks = new Looks()
  const threads = [...new Set(seen.map(([name]) => name))]
  const pathOf = (stack: string): Int32Array =>
    Int32Array.from(stack.split(/\s+/), (frame) => {
      const dot = frame.lastIndexOf('.')
      return tree.idOf({
        class: frame.slice(0, dot),
        method: frame.slice(dot + 1),
        descriptor: '',
        loader: '',
      })
    })
  const look = (busy: string, stack: string): void =>
    looks.add(
      threads.map((name, i) => ({
        id: i + 1,
        frames: (name === busy ? stack : idle).split(/\s+/).reverse(),
      })),
    )
  for (const [name, stack, times] of seen) {
    const thread = { id: threads.indexOf(name) + 1, name, virtual: false }
    for (let i = 0; i < times; i++) {
      tree.sample(thread, pathOf(stack))
      look(name, stack)
      tree.away(thread, pathOf(idle))
      look(name, idle)
    }
  }
  return rootCandidates(tree.snapshot(true), (id) => tree.methodNames[id]!, looks).roots[0]?.root
}

const POOL =
  'java.lang.Thread.run java.util.concurrent.ThreadPoolExecutor$Worker.run java.util.concurrent.ThreadPoolExecutor.runWorker'
const PARKED = 'java.util.concurrent.ThreadPoolExecutor.getTask jdk.internal.misc.Unsafe.park'
const SLEEP = 'java.lang.Thread.sleep'

describe('the recommended root of a Spring Boot service', () => {
  const LOOP =
    'java.lang.Thread.run org.apache.tomcat.util.threads.TaskThread$WrappingRunnable.run org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker'
  const IDLE = `${LOOP} org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask jdk.internal.misc.Unsafe.park`
  const PROCESS = `${LOOP} org.apache.tomcat.util.net.SocketProcessorBase.run`
  const SERVICE = `${PROCESS} org.apache.coyote.http11.Http11Processor.service org.apache.catalina.connector.CoyoteAdapter.service`
  const SERVLET = `${SERVICE} org.springframework.web.servlet.DispatcherServlet.doDispatch org.springframework.web.method.support.InvocableHandlerMethod.doInvoke java.lang.reflect.Method.invoke`
  const CREATE = `${SERVLET} orders.ShopController.order orders.Shop$$SpringCGLIB$$0.order org.springframework.aop.framework.CglibAopProxy$DynamicAdvisedInterceptor.intercept orders.Shop.order`

  it('the recommended root of a Spring Boot service is the application method that contains all requests', () => {
    const stacks: Seen = [
      ['exec-1', `${CREATE} orders.Pricing.price`, 30],
      [
        'exec-2',
        `${CREATE} orders.Stock.take org.h2.jdbc.JdbcStatement.execute org.h2.engine.Session.wait`,
        60,
      ],
      ['exec-1', `${PROCESS} org.apache.coyote.http11.Http11InputBuffer.parseHeaders`, 5],
    ]
    expect(recommended(stacks, IDLE)).toBe('orders.Shop.order')
  })

  it('the recommended root of a Spring Boot service is the common caller of several controllers', () => {
    const stacks: Seen = [
      ['exec-1', `${CREATE} orders.Pricing.price`, 30],
      ['exec-2', `${SERVLET} orders.ShopController.search orders.Shop.search ${SLEEP}`, 40],
      ['exec-1', `${SERVLET} orders.ShopController.history orders.Shop.history ${SLEEP}`, 20],
      [
        'exec-3',
        `${SERVICE} org.springframework.security.web.FilterChainProxy.doFilter org.springframework.security.Encoder.matches`,
        20,
      ],
      ['exec-2', `${PROCESS} sun.nio.ch.SocketDispatcher.write0`, 20],
    ]
    expect(recommended(stacks, IDLE)).toBe(
      'org.springframework.web.method.support.InvocableHandlerMethod.doInvoke',
    )
  })

  it('the recommended root of a Spring Boot service is not an application filter above all controllers', () => {
    const below = (stack: string): string =>
      stack.replace(
        'org.springframework.web.servlet',
        'orders.AuthFilter.doFilter org.springframework.web.servlet',
      )
    const stacks: Seen = [
      ['exec-1', below(`${CREATE} orders.Pricing.price`), 30],
      ['exec-2', below(`${SERVLET} orders.ShopController.search orders.Shop.search ${SLEEP}`), 40],
    ]
    expect(recommended(stacks, IDLE)).toBe(
      'org.springframework.web.method.support.InvocableHandlerMethod.doInvoke',
    )
  })

  it('the recommended root of a Spring Boot service is the enclosing method if most time is spent outside the controllers', () => {
    const CHAIN = `${SERVICE} org.apache.catalina.core.ApplicationFilterChain.doFilter`
    const stacks: Seen = [
      [
        'exec-1',
        `${CHAIN} org.springframework.security.Encoder.matches org.springframework.security.BCrypt.hash`,
        80,
      ],
      [
        'exec-2',
        `${CHAIN} org.springframework.web.servlet.DispatcherServlet.doDispatch orders.ShopController.search orders.Shop.search`,
        20,
      ],
    ]
    expect(recommended(stacks, IDLE)).toBe('org.apache.catalina.core.ApplicationFilterChain.doFilter')
  })
})

it('the recommended root for Keycloak is the endpoint method', () => {
  const LOOP =
    'java.lang.Thread.run io.netty.util.concurrent.FastThreadLocalRunnable.run org.jboss.threads.EnhancedQueueExecutor$ThreadBody.run'
  const TASK = `${LOOP} org.jboss.threads.EnhancedQueueExecutor$Task.doRunWith io.quarkus.vertx.core.runtime.VertxCoreRecorder$15.runWith org.jboss.resteasy.reactive.common.core.AbstractResteasyReactiveContext.run org.jboss.resteasy.reactive.server.handlers.InvocationHandler.handle org.keycloak.protocol.oidc.endpoints.TokenEndpoint$quarkusrestinvoker$processGrantRequest_6408e15340992839b66447750c221d9aaa837bd7.invoke org.keycloak.protocol.oidc.endpoints.TokenEndpoint.processGrantRequest`
  const stacks: Seen = [
    [
      'executor-thread-1',
      `${TASK} org.keycloak.protocol.oidc.grants.ClientCredentialsGrantType.process org.hibernate.Session.find`,
      40,
    ],
    [
      'executor-thread-2',
      `${TASK} org.keycloak.protocol.oidc.grants.ResourceOwnerPasswordCredentialsGrantType.process org.keycloak.credential.hash.Argon2.verify org.bouncycastle.crypto.Argon2.fill`,
      40,
    ],
    ['executor-thread-1', `${TASK} org.keycloak.protocol.oidc.TokenManager.encode`, 10],
  ]
  expect(
    recommended(
      stacks,
      `${LOOP} org.jboss.threads.EnhancedQueueExecutor$PoolThreadNode.park jdk.internal.misc.Unsafe.park`,
    ),
  ).toBe('org.keycloak.protocol.oidc.endpoints.TokenEndpoint.processGrantRequest')
})

it('the recommended root for Kafka is the method that handles the sampled requests', () => {
  const LOOP = 'java.lang.Thread.run kafka.server.KafkaRequestHandler.run'
  const IDLE = `${LOOP} kafka.network.RequestChannel.receiveRequest jdk.internal.misc.Unsafe.park`
  const PRODUCE = `${LOOP} kafka.server.KafkaApis.handle kafka.server.KafkaApis.handleProduceRequest kafka.server.ReplicaManager.handleProduceAppend`
  const produce: Seen = [
    [
      'handler-0',
      `${PRODUCE} kafka.server.ReplicaManager.appendRecords kafka.cluster.Partition.appendRecordsToLeader`,
      40,
    ],
    [
      'handler-1',
      `${PRODUCE} kafka.server.ReplicaManager.delayedProduce kafka.server.DelayedOperation.tryComplete`,
      30,
    ],
    [
      'handler-1',
      `${LOOP} kafka.server.KafkaApis.handle kafka.server.KafkaApis.handleFetchRequest kafka.server.ReplicaManager.fetchMessages`,
      3,
    ],
  ]
  expect(recommended(produce, IDLE)).toBe('kafka.server.ReplicaManager.handleProduceAppend')
  const fetch: Seen = [
    [
      'handler-0',
      `${LOOP} kafka.server.KafkaApis.handle kafka.server.KafkaApis.handleFetchRequest kafka.server.ReplicaManager.fetchMessages`,
      60,
    ],
  ]
  expect(recommended([...produce, ...fetch], IDLE)).toBe('kafka.server.KafkaApis.handle')
})

describe('the recommended root of a plain executor', () => {
  it('the recommended root of a plain executor is the task method, not a callee that is called repeatedly or waits', () => {
    const TASK = `${POOL} java.util.concurrent.FutureTask.run shop.Main.lambda$main$0 shop.Order.process`
    expect(
      recommended([['pool-1-thread-1', `${TASK} shop.Order.pause ${SLEEP}`, 50]], `${POOL} ${PARKED}`),
    ).toBe('shop.Order.process')
  })

  it('the recommended root of a plain executor is not a method that a task calls in a loop', () => {
    const tree = new SampledTree()
    const id = (name: string): number =>
      tree.idOf({ class: 'shop.Order', method: name, descriptor: '', loader: '' })
    const looks = new Looks()
    const thread = { id: 1, name: 'pool-1-thread-1', virtual: false }
    for (let task = 0; task < 10; task++) {
      for (let line = 0; line < 5; line++) {
        tree.sample(thread, Int32Array.of(id('process'), id('line'), id('find'), id('scan')))
        tree.away(thread, Int32Array.of(id('process')))
      }
      tree.away(thread, Int32Array.of())
    }
    expect(rootCandidates(tree.snapshot(true), (it) => tree.methodNames[it]!, looks).roots[0]!.root).toBe(
      'shop.Order.process',
    )
  })
})

it('the recommended root of a scheduled job is the job method', () => {
  const RUN = `${POOL} java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask.run org.springframework.scheduling.support.DelegatingErrorHandlingRunnable.run org.springframework.scheduling.support.ScheduledMethodRunnable.run java.lang.reflect.Method.invoke shop.Report.nightly`
  const stacks: Seen = [
    ['scheduling-1', `${RUN} shop.Report.query org.postgresql.Driver.read`, 30],
    ['scheduling-1', `${RUN} shop.Report.write java.io.FileOutputStream.write`, 30],
  ]
  expect(recommended(stacks, `${POOL} ${PARKED}`)).toBe('shop.Report.nightly')
})

it('no root is recommended if no sampled method was seen to return', () => {
  const tree = new SampledTree()
  expect(rootCandidates(tree.snapshot(true), (id) => tree.methodNames[id]!, new Looks()).roots).toEqual([])
})
