import { describe, expect, it } from 'vitest'
import { inPreorder } from '../../../src/cct/lay-out.ts'
import { SAMPLED, TIMED } from '../../../src/cct/merge-samples.ts'
import type { MethodName } from '../../../src/cct/tree.ts'
import {
  chooseMethods,
  mayBeTimed,
  ownerBy,
  type Seen,
  seenMethods,
  whileCold,
} from '../../../src/session/adaptive/choose.ts'

function name(text: string): MethodName {
  const at = text.lastIndexOf('.')
  return { class: text.slice(0, at), method: text.slice(at + 1), descriptor: '', loader: '' }
}

function seen(text: string, share: number, more: Partial<Seen> = {}): Seen {
  const { class: className, method } = name(text)
  const usual = {
    nested: share,
    sd: 0.001,
    self: share,
    innermost: share,
    samples: 10,
    branches: 0,
    computing: 0,
    owner: 'user',
  } as const
  return { className, method, share, ...usual, ...more }
}

describe('the choice of timed methods', () => {
  it('the choice of timed methods selects methods whose share is large enough despite sampling error', () => {
    const chosen = chooseMethods([
      seen('a.Large.run', 0.5),
      seen('a.Unsure.run', 0.02, { sd: 0.016 }),
      seen('a.Small.run', 0.004),
      seen('a.Once.run', 0.06, { sd: 0.06 }),
      seen('lib.Large.run', 0.2, { owner: 'library', self: 0, branches: 3 }),
      seen('lib.Small.run', 0.02, { owner: 'library' }),
    ])
    expect([...chosen.keys()]).toEqual(['a.Large', 'a.Once', 'lib.Large'])
  })

  it('the choice of timed methods selects every sampled user method while the code is not compiled yet', () => {
    const methods = [
      seen('a.Large.run', 0.5),
      seen('a.Hash.run', 0.02, { sd: 0.02, samples: 2 }),
      seen('a.Once.run', 0.01, { sd: 0.01, samples: 1 }),
      seen('a.Small.run', 0.004),
      seen('lib.Once.run', 0.06, { sd: 0.06, owner: 'library' }),
    ]
    expect([...chooseMethods(methods).keys()]).toEqual(['a.Large'])
    expect([...chooseMethods(whileCold(methods)).keys()]).toEqual(['a.Large', 'a.Hash'])
  })

  it('the choice of timed methods adds all sampled methods of a user class if one of its methods is chosen', () => {
    const chosen = chooseMethods([
      seen('a.Large.run', 0.5),
      seen('a.Large.once', 0.01, { sd: 0.01 }),
      seen('a.Other.once', 0.01, { sd: 0.01 }),
      seen('lib.Large.run', 0.2, { owner: 'library', self: 0, branches: 3 }),
      seen('lib.Large.once', 0.01, { owner: 'library', self: 0, sd: 0.01 }),
    ])
    expect(chosen).toEqual(
      new Map([
        ['a.Large', ['run', 'once']],
        ['lib.Large', ['run']],
      ]),
    )
  })

  it('the choice of timed methods selects only the most valuable classes, up to the number that one redefinition may change', () => {
    const many = Array.from({ length: 100 }, (_, i) => seen(`a.C${i}.run`, 0.01 + i / 1000))
    const chosen = chooseMethods(many, { classes: 3 })
    expect([...chosen.keys()]).toEqual(['a.C99', 'a.C98', 'a.C97'])
  })

  it('the choice of timed methods groups the selected methods by class', () => {
    const chosen = chooseMethods([seen('a.A.one', 0.5), seen('a.B.two', 0.4), seen('a.A.three', 0.3)])
    expect(chosen.get('a.A')).toEqual(['one', 'three'])
  })

  it('the choice of timed methods prefers methods with several callees to methods that only delegate', () => {
    const chain = seen('a.Proxy.call', 0.9, { self: 0, innermost: 0 })
    const parts = seen('a.Service.call', 0.5, { self: 0, innermost: 0, branches: 3 })
    expect([...chooseMethods([chain, parts], { classes: 1 }).keys()]).toEqual(['a.Service'])
  })

  it('the choice of timed methods prefers user code to framework and library code', () => {
    const filters = Array.from({ length: 5 }, (_, i) =>
      seen(`org.apache.F${i}.call`, 0.9, { innermost: 0.1, branches: 3, owner: 'framework of a root' }),
    )
    const drivers = Array.from({ length: 5 }, (_, i) =>
      seen(`lib.D${i}.query`, 0.5, { innermost: 0, branches: 3, owner: 'library' }),
    )
    const dao = seen('a.Dao.find', 0.03, { self: 0, branches: 1 })
    const chosen = chooseMethods([...filters, ...drivers, dao], { classes: 7 })
    expect([...chosen.keys()]).toEqual(['a.Dao', ...filters.map((it) => it.className), 'lib.D0'])
  })

  it('the choice of timed methods prefers the direct caller of a slow method to indirect callers', () => {
    const service = seen('a.Service.call', 0.3, { self: 0, innermost: 0, branches: 3 })
    const dao = seen('a.Dao.find', 0.2, { self: 0, innermost: 0.2, branches: 1 })
    expect([...chooseMethods([service, dao], { classes: 1 }).keys()]).toEqual(['a.Dao'])
  })

  it('the choice of timed methods excludes library methods that only delegate', () => {
    const chain = { self: 0, branches: 1 }
    const own = seen('a.Service.call', 0.5, chain)
    const map = seen('scala.collection.mutable.HashMap.map', 0.5, { ...chain, owner: 'library' })
    expect([...chooseMethods([own, map]).keys()]).toEqual(['a.Service'])
  })

  it('the choice of timed methods excludes library classes with much self time, because their code would run in the interpreter for a while', () => {
    const lib = { owner: 'library', self: 0.01, branches: 3 } as const
    const methods = [
      seen('lib.Hash.fill', 0.4, { ...lib, computing: 0.31 }),
      seen('lib.Hash.round', 0.3, { ...lib, computing: 0.31 }),
      seen('lib.Driver.query', 0.3, { ...lib, computing: 0.02 }),
      seen('a.Hot.loop', 0.3, { self: 0.3, computing: 0.3 }),
    ]
    expect([...chooseMethods(methods).keys()]).toEqual(['a.Hot', 'lib.Driver'])
  })

  it.each([
    ['java.util.HashMap.get', false],
    ['com.acme.Order$$SpringCGLIB$$0.process', false],
    ['jdk.proxy2.$Proxy81.find', false],
    ['io.opentelemetry.javaagent.instrumentation.Advice.enter', false],
    ['com.acme.Order.lambda$process$0', true],
    ['kafka.cluster.Partition.$anonfun$append$1', true],
    ['com.acme.Order.access$100', false],
    ['com.acme.Order.<init>', false],
    ['com.acme.Order$Line.price', true],
    ['.(other methods)', false],
  ])('the method %s may be timed: %s', (text, expected) => {
    expect(mayBeTimed(name(text))).toBe(expected)
  })
})

describe('classification of user code', () => {
  it('classes that share the first two package segments of a root are user code', () => {
    const ownerOf = ownerBy(['com.acme.web.Shop'])
    expect(ownerOf('com.acme.db.Orders')).toBe('user')
    expect(ownerOf('com.acmeplus.Orders')).toBe('library')
    expect(ownerOf('org.springframework.web.Filter')).toBe('library')
  })

  it('if the root is in a framework, classes outside all frameworks are user code', () => {
    const ownerOf = ownerBy(['org.jboss.resteasy.reactive.server.handlers.InvocationHandler'])
    expect(ownerOf('org.keycloak.services.Urls')).toBe('user')
    expect(ownerOf('org.jboss.resteasy.reactive.server.core.Deployment')).toBe('framework of a root')
    expect(ownerOf('org.infinispan.Cache')).toBe('library')
    const ofBoth = ownerBy(['org.apache.catalina.connector.CoyoteAdapter', 'com.acme.Shop'])
    expect(ofBoth('com.acme.Tax')).toBe('user')
    expect(ofBoth('orders.Tax')).toBe('library')
  })

  it('classes that share only the first package segment with a root are user code if this segment is no top-level domain', () => {
    expect(ownerBy(['kafka.server.KafkaApis'])('kafka.log.Log')).toBe('user')
    expect(ownerBy(['kafka.Server'])('kafka.log.Log')).toBe('user')
  })

  it('if the root is in the default package, classes of the default package are user code', () => {
    expect(ownerBy(['Main'])('Other')).toBe('user')
    expect(ownerBy(['Main'])('com.acme.Order')).toBe('library')
  })
})

describe('sampled shares of a method', () => {
  it('sampled shares of a method count only its outermost activations, relative to the samples of all roots; `nested` counts all', () => {
    const names = ['', 'a.Root.run', 'a.Walk.visit', 'a.Leaf.cost'].map((it) => name(it || '.'))
    const tree = inPreorder([1, 2, 2, 3, 3], [-1, 0, 1, 2, 0], {
      selfNs: [10, 20, 30, 20, 20],
      totalNs: [100, 70, 50, 20, 20],
      cpuNs: [0, 0, 0, 0, 0],
      samples: [10, 70, 50, 20, 20],
      known: [TIMED, SAMPLED, SAMPLED, SAMPLED, SAMPLED],
      sdNs: [0, 3, 4, 3, 4],
    })
    expect(
      seenMethods(
        tree,
        (id) => names[id]!,
        () => 'user',
      ),
    ).toEqual([
      {
        className: 'a.Walk',
        method: 'visit',
        share: 0.7,
        nested: 1.2,
        sd: 0.03,
        self: 0.5,
        innermost: 0.5,
        samples: 70,
        branches: 0,
        computing: 0,
        owner: 'user',
      },
      {
        className: 'a.Leaf',
        method: 'cost',
        share: 0.4,
        nested: 0.4,
        sd: 0.05,
        self: 0.4,
        innermost: 0.4,
        samples: 40,
        branches: 0,
        computing: 0,
        owner: 'user',
      },
    ])
  })

  it('sampled shares of a user method include the library and JDK methods that the user method calls', () => {
    const names = [
      'a.Root.run',
      'a.Dao.find',
      'lib.Jdbc.query',
      'a.Mapper.row',
      'a.Dao$$Proxy.x',
      'java.util.Map.get',
    ]
    const tree = inPreorder([1, 2, 3, 4, 5, 6], [-1, 0, 1, 2, 3, 4], {
      selfNs: [5, 1, 40, 4, 20, 30],
      totalNs: [100, 95, 94, 54, 50, 30],
      cpuNs: [0, 0, 0, 0, 0, 0],
      samples: [0, 95, 94, 54, 50, 30],
      known: [TIMED, SAMPLED, SAMPLED, SAMPLED, SAMPLED, SAMPLED],
      sdNs: [0, 1, 1, 1, 1, 1],
    })
    const found = seenMethods(
      tree,
      (id) => name(names[id - 1]!),
      (it) => (it.startsWith('a.') ? 'user' : 'library'),
    )
    expect(found.map((it) => [it.className, it.innermost])).toEqual([
      ['a.Dao', 0.41],
      ['lib.Jdbc', 0],
      ['a.Mapper', 0.54],
    ])
  })

  /** Returns each class with its computing time, largest share first. */
  function computing(
    names: readonly string[],
    parents: number[],
    metrics: Readonly<Record<'totalNs' | 'cpuNs' | 'samples' | 'known', number[]>>,
  ): (string | number)[][] {
    const ids = names.map((_, i) => i + 1)
    const zeros = names.map(() => 0)
    const tree = inPreorder(ids, parents, { ...metrics, selfNs: zeros, sdNs: zeros })
    const seen = seenMethods(
      tree,
      (id) => name(names[id - 1]!),
      () => 'library',
    )
    return seen.map((it) => [it.className, it.computing])
  }

  it('sampled shares of a method include the CPU share of the untimed methods of its class, if there are at least three samples', () => {
    const names = ['a.Root.run', 'lib.Hash.fill', 'lib.Hash.<init>', 'lib.Driver.query', 'lib.Rare.run']
    const classes = computing(names, [-1, 0, 1, 0, 0], {
      totalNs: [100, 30, 20, 40, 20],
      cpuNs: [60, 30, 20, 0, 20],
      samples: [10, 3, 2, 4, 2],
      known: [TIMED, SAMPLED, SAMPLED, SAMPLED, SAMPLED],
    })
    expect(classes).toEqual([
      ['lib.Driver', 0],
      ['lib.Hash', 0.3],
      ['lib.Rare', 0],
    ])
  })

  it('sampled shares of nested classes are added up under the outer class', () => {
    const names = ['a.Root.run', 'lib.Hash.fill', 'lib.Hash$Block.mix', 'lib.$Gen.run', 'lib.$Other.run']
    const classes = computing(names, [-1, 0, 1, 0, 0], {
      totalNs: [100, 80, 75, 10, 10],
      cpuNs: [100, 80, 75, 10, 10],
      samples: [0, 100, 94, 5, 5],
      known: [TIMED, SAMPLED, SAMPLED, SAMPLED, SAMPLED],
    })
    expect(classes).toEqual([
      ['lib.Hash', 0.8],
      ['lib.Hash$Block', 0.8],
      ['lib.$Gen', 0.1],
      ['lib.$Other', 0.1],
    ])
  })

  it('sampled shares of a class exclude samples of timed methods below the class', () => {
    const classes = computing(['a.Root.run', 'lib.Tx.invoke', 'a.Dao.query'], [-1, 0, 1], {
      totalNs: [100, 90, 60],
      cpuNs: [100, 90, 60],
      samples: [25, 20, 60],
      known: [TIMED, SAMPLED, TIMED],
    })
    expect(classes).toEqual([['lib.Tx', 0.3]])
  })

  it('sampled shares of a method are empty without samples', () => {
    const tree = inPreorder([1], [-1], { selfNs: [10], totalNs: [10] })
    expect(
      seenMethods(
        tree,
        () => name('a.B.c'),
        () => 'user',
      ),
    ).toEqual([])
  })
})
