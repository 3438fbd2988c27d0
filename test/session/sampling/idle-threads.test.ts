// Threads in a dump that wait for work. Stacks are from JDK 17 and 25, innermost frame first, some shortened.

import { describe, expect, it } from 'vitest'
import { isIdle } from '../../../src/session/sampling/idle-threads.ts'
import { costOfDump, dueAfter } from '../../../src/session/sampling/thread-dumps.ts'

const frames = (text: string): string[] => text.trim().split(/\s+/)

const PARK = 'jdk.internal.misc.Unsafe.park java.util.concurrent.locks.LockSupport.park'
const CONDITION = `${PARK} java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await`
const WORKER =
  'java.util.concurrent.ThreadPoolExecutor.runWorker java.util.concurrent.ThreadPoolExecutor$Worker.run'
const TOMCAT =
  'org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker org.apache.tomcat.util.threads.ThreadPoolExecutor$Worker.run org.apache.tomcat.util.threads.TaskThread$WrappingRunnable.run java.lang.Thread.run'
const SELECT =
  'sun.nio.ch.EPoll.wait sun.nio.ch.EPollSelectorImpl.doSelect sun.nio.ch.SelectorImpl.lockAndDoSelect sun.nio.ch.SelectorImpl.select'
const KAFKA_HANDLER = 'kafka.server.KafkaRequestHandler.run java.lang.Thread.run'

describe('a thread that waits for work', () => {
  it.each<[string, string, string]>([
    [
      'a worker of the JDK',
      'WAITING',
      `${CONDITION} java.util.concurrent.LinkedBlockingQueue.take java.util.concurrent.ThreadPoolExecutor.getTask ${WORKER} shop.Threads.run java.lang.Thread.run`,
    ],
    [
      'a worker of Tomcat',
      'TIMED_WAITING',
      `${CONDITION} java.util.concurrent.LinkedBlockingQueue.poll org.apache.tomcat.util.threads.TaskQueue.poll org.apache.tomcat.util.threads.TaskQueue.poll org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask ${TOMCAT}`,
    ],
    [
      'a worker of JBoss threads',
      'WAITING',
      `${PARK} org.jboss.threads.EnhancedQueueExecutor$PoolThreadNode.park org.jboss.threads.EnhancedQueueExecutor$ThreadBody.run io.netty.util.concurrent.FastThreadLocalRunnable.run java.lang.Thread.run`,
    ],
    [
      'a worker of Jetty',
      'TIMED_WAITING',
      `${CONDITION} org.eclipse.jetty.util.BlockingArrayQueue.poll org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run java.lang.Thread.run`,
    ],
    [
      "a request handler of Kafka's",
      'TIMED_WAITING',
      `${CONDITION} java.util.concurrent.ArrayBlockingQueue.poll kafka.network.RequestChannel.receiveRequest ${KAFKA_HANDLER}`,
    ],
    [
      'a fork-join worker',
      'WAITING',
      `${PARK} java.util.concurrent.ForkJoinPool.awaitWork java.util.concurrent.ForkJoinPool.runWorker shop.Worker.run`,
    ],
    [
      "Tomcat's poller",
      'RUNNABLE',
      `${SELECT} org.apache.tomcat.util.net.NioEndpoint$Poller.run java.lang.Thread.run`,
    ],
    [
      'an event loop of Netty',
      'RUNNABLE',
      `${SELECT} io.netty.channel.nio.SelectedSelectionKeySetSelector.select io.netty.channel.nio.NioIoHandler.select io.netty.channel.nio.NioIoHandler.run io.netty.channel.SingleThreadIoEventLoop.run io.netty.util.concurrent.SingleThreadEventExecutor$5.run io.netty.util.internal.ThreadExecutorMap$2.run io.netty.util.concurrent.FastThreadLocalRunnable.run java.lang.Thread.run`,
    ],
    [
      'an event loop of Netty with epoll, shaded',
      'RUNNABLE',
      'io.grpc.netty.shaded.io.netty.channel.epoll.Native.epollWait io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoop.run io.grpc.netty.shaded.io.netty.util.concurrent.SingleThreadEventExecutor$4.run java.lang.Thread.run',
    ],
    [
      "Kafka's network threads",
      'RUNNABLE',
      `${SELECT} org.apache.kafka.common.network.Selector.select org.apache.kafka.common.network.Selector.poll kafka.network.Processor.poll kafka.network.Processor.run java.lang.Thread.run`,
    ],
    [
      'an acceptor',
      'RUNNABLE',
      'sun.nio.ch.Net.accept sun.nio.ch.ServerSocketChannelImpl.implAccept sun.nio.ch.ServerSocketChannelImpl.accept org.apache.tomcat.util.net.NioEndpoint.serverSocketAccept org.apache.tomcat.util.net.Acceptor.run java.lang.Thread.run',
    ],
    [
      'an acceptor of a plain socket',
      'RUNNABLE',
      'sun.nio.ch.Net.accept sun.nio.ch.NioSocketImpl.accept java.net.ServerSocket.implAccept java.net.ServerSocket.accept shop.A.a shop.B.b shop.C.c shop.D.d',
    ],
    [
      'the reference handler',
      'RUNNABLE',
      'java.lang.ref.Reference.waitForReferencePendingList java.lang.ref.Reference.processPendingReferences',
    ],
    [
      'the finalizer',
      'WAITING',
      'java.lang.Object.wait java.lang.ref.ReferenceQueue.remove java.lang.ref.Finalizer$FinalizerThread.run',
    ],
    [
      'a timer',
      'TIMED_WAITING',
      'java.lang.Object.wait java.util.TimerThread.mainLoop java.util.TimerThread.run',
    ],
    [
      "a scheduler's loop",
      'TIMED_WAITING',
      'java.lang.Object.wait0 java.lang.Object.wait org.quartz.core.QuartzSchedulerThread.run',
    ],
    [
      'a custom worker',
      'WAITING',
      `${CONDITION} java.util.concurrent.LinkedBlockingQueue.take shop.Worker.next shop.Worker.loop shop.Worker.run java.lang.Thread.run`,
    ],
    ['main in Thread.join', 'WAITING', 'java.lang.Object.wait java.lang.Thread.join shop.Main.main'],
    [
      'main reading standard input',
      'RUNNABLE',
      'java.io.FileInputStream.readBytes java.io.FileInputStream.read shop.Main.main',
    ],
    [
      'main of Tomcat',
      'TIMED_WAITING',
      'java.lang.Thread.sleep org.apache.catalina.core.StandardServer.await org.springframework.boot.web.embedded.tomcat.TomcatWebServer$1.run',
    ],
    [
      "main of Kafka's broker",
      'WAITING',
      `${CONDITION} kafka.server.BrokerServer.awaitShutdown kafka.server.A.a kafka.server.B.b scala.Option.foreach kafka.server.KafkaRaftServer.awaitShutdown kafka.Kafka$.main kafka.Kafka.main`,
    ],
    [
      'a carrier thread',
      'CARRYING',
      'jdk.internal.vm.Continuation.run java.lang.VirtualThread.runContinuation',
    ],
  ])('a thread that waits for work is idle: %s', (_, state, stack) => {
    expect(isIdle({ state, frames: frames(stack) })).toBe(true)
  })
})

describe('a thread that waits inside a task', () => {
  const TASK = `shop.Orders.create shop.Task.run ${WORKER} java.lang.Thread.run`
  it.each<[string, string, string]>([
    ['blocked on a monitor', 'BLOCKED', `shop.Stock.take ${TASK}`],
    ['blocked on a monitor in its own loop', 'BLOCKED', 'shop.Worker.run java.lang.Thread.run'],
    ['waiting for a lock', 'WAITING', `${PARK} java.util.concurrent.locks.ReentrantLock.lock ${TASK}`],
    ['sleeping', 'TIMED_WAITING', `java.lang.Thread.sleep ${TASK}`],
    [
      'sleeping in its own thread',
      'TIMED_WAITING',
      'java.lang.Thread.sleep shop.Job.pause shop.Job.run java.lang.Thread.run',
    ],
    [
      'reading from a database',
      'RUNNABLE',
      `sun.nio.ch.SocketDispatcher.read0 sun.nio.ch.NioSocketImpl.read org.postgresql.core.PGStream.receive ${TASK}`,
    ],
    [
      'waiting for a pooled connection',
      'TIMED_WAITING',
      `${PARK} java.util.concurrent.SynchronousQueue.poll com.zaxxer.hikari.util.ConcurrentBag.borrow com.zaxxer.hikari.pool.HikariPool.getConnection shop.Orders.create org.apache.tomcat.util.net.SocketProcessorBase.run ${TOMCAT}`,
    ],
    [
      'waiting for a condition in a task',
      'WAITING',
      `${CONDITION} shop.Task.run ${WORKER} java.lang.Thread.run`,
    ],
    [
      'waiting for an answer',
      'WAITING',
      `${PARK} java.util.concurrent.CompletableFuture.get shop.Remote.call shop.Job.run java.lang.Thread.run`,
    ],
    ['waiting for a task of another pool', 'WAITING', `${PARK} java.util.concurrent.FutureTask.get ${TASK}`],
  ])('a thread that waits inside a task is not idle: %s', (_, state, stack) => {
    expect(isIdle({ state, frames: frames(stack) })).toBe(false)
  })

  it('a thread in state RUNNABLE inside a task is never idle', () => {
    expect(isIdle({ state: 'RUNNABLE', frames: frames(`shop.Stock.count ${TASK}`) })).toBe(false)
    expect(isIdle({ state: 'RUNNABLE', frames: ['java.util.HashMap.get', 'java.lang.Thread.run'] })).toBe(
      false,
    )
  })
})

describe('thread dumps', () => {
  it('the interval between thread dumps limits their median cost to 1 % of the time', () => {
    expect(dueAfter(10, [1.2, 1.5, 60])).toBeCloseTo(150)
    expect(dueAfter(10, [0.05])).toBe(10)
    expect(dueAfter(10, [])).toBe(10)
    // After a long dump, its own cost counts.
    expect(dueAfter(10, [1.2, 1.5, 60], 0.01, 50)).toBeCloseTo(6_000)
  })

  it('the cost of a thread dump excludes garbage collections that run during the dump', () => {
    const at = (collectionNs: number) => ({ collectionNs, throttledNs: null, periods: null })
    expect(costOfDump(80, 100, at(1e9), at(1e9 + 75e6))).toBeCloseTo(5)
    expect(costOfDump(undefined, 100, at(0), at(0))).toBe(100)
  })
})
