// The servers: how each is started with its stock options, its load, and its roots.
//
// `roots.narrow` and `roots.high` are the roots of the table. `sequence` has ten different roots, for ten sessions in a row.

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePorts } from './processes.mjs'
import {
  BOOT_VERSION,
  installBoot,
  installKafka,
  installKeycloak,
  KAFKA_VERSION,
  KEYCLOAK_VERSION,
} from './setup.mjs'

const HERE = import.meta.dirname
const httpLoad = (plan, port, csv, how) => [
  ...[process.execPath, join(HERE, 'load-http.mjs'), join(HERE, plan), String(port), csv],
  ...how,
]

/**
 * @typedef {object} Prepared  a server that can be started
 * @property {readonly string[]} command
 * @property {string} cwd
 * @property {Record<string, string>} env
 * @property {() => Promise<boolean>} isUp
 * @property {(csv: string, requests: string) => readonly string[]} load  command of the load, which writes these files
 */

const boot = {
  title: `Spring Boot ${BOOT_VERSION}`,
  rate: 20,
  install: installBoot,
  own: 'orders.',
  roots: {
    narrow: 'orders.ShopController.history',
    high: 'org.apache.catalina.connector.CoyoteAdapter.service',
  },
  sequence: [
    'orders.ShopController.history',
    'orders.ShopController.search',
    'orders.ShopController.order',
    'orders.Shop.history',
    'orders.Shop.search',
    'orders.Shop.order',
    'orders.Pricing.price',
    'org.springframework.web.servlet.DispatcherServlet.doDispatch',
    'org.apache.catalina.core.StandardWrapperValve.invoke',
    'org.apache.catalina.connector.CoyoteAdapter.service',
  ],
  async prepare({ jdk, jar, jvmOptions, busy, directory }) {
    const [port] = await freePorts(1)
    const settings = [`--server.port=${port}`, ...(busy ? ['--orders.bcrypt=true'] : [])]
    return {
      command: [jdk.java, '-Xmx512m', ...jvmOptions, '-jar', jar, ...settings],
      cwd: directory,
      env: {},
      isUp: () => answers(`http://127.0.0.1:${port}/actuator/health`),
      load: (csv) =>
        httpLoad('plan-boot.mjs', port, csv, busy ? ['closed', '8'] : ['open', String(boot.rate)]),
    }
  },
}

const keycloak = {
  title: `Keycloak ${KEYCLOAK_VERSION}`,
  rate: 15,
  install: installKeycloak,
  own: 'org.keycloak.',
  roots: {
    narrow: 'org.keycloak.protocol.oidc.endpoints.TokenEndpoint.processGrantRequest',
    high: 'org.jboss.resteasy.reactive.server.handlers.InvocationHandler.handle',
  },
  sequence: [
    'org.keycloak.protocol.oidc.endpoints.TokenEndpoint.processGrantRequest',
    'org.keycloak.protocol.oidc.endpoints.TokenIntrospectionEndpoint.introspect',
    'org.keycloak.protocol.oidc.grants.ClientCredentialsGrantType.process',
    'org.keycloak.protocol.oidc.TokenManager.initToken',
    'org.keycloak.authentication.AuthenticationProcessor.authenticateClient',
    'org.keycloak.protocol.oidc.utils.AuthorizeClientUtil.authorizeClient',
    'org.keycloak.jose.jws.DefaultTokenManager.encode',
    'org.keycloak.protocol.oidc.TokenManager$AccessTokenResponseBuilder.build',
    'org.keycloak.protocol.oidc.grants.ResourceOwnerPasswordCredentialsGrantType.process',
    'org.jboss.resteasy.reactive.server.handlers.InvocationHandler.handle',
  ],
  async prepare({ jdk, jar: distribution, jvmOptions, directory }) {
    // Keycloak writes its database, and the result of its first start, into the distribution.
    const home = join(directory, 'keycloak')
    cpSync(distribution, home, { recursive: true })
    const [http, management] = await freePorts(2)
    const ports = ['--http-port', String(http), '--http-management-port', String(management)]
    return {
      command: [join(home, 'bin/kc.sh'), 'start-dev', '--http-host', '127.0.0.1', ...ports],
      cwd: home,
      env: {
        JAVA_HOME: jdk.home,
        KC_BOOTSTRAP_ADMIN_USERNAME: 'admin',
        KC_BOOTSTRAP_ADMIN_PASSWORD: 'admin',
        JAVA_OPTS_KC_HEAP: '-Xms256m -Xmx1024m',
        ...(jvmOptions.length === 0 ? {} : { JAVA_OPTS_APPEND: jvmOptions.join(' ') }),
      },
      isUp: () => answers(`http://127.0.0.1:${http}/realms/master`),
      load: (csv) => httpLoad('plan-keycloak.mjs', http, csv, ['open', String(keycloak.rate)]),
    }
  },
}

const kafka = {
  title: `Kafka ${KAFKA_VERSION}`,
  rate: 100,
  install: installKafka,
  own: 'kafka.',
  roots: {
    narrow: 'kafka.server.KafkaApis.handleProduceRequest',
    high: 'kafka.server.KafkaApis.handle',
  },
  sequence: [
    'kafka.server.KafkaApis.handleProduceRequest',
    'kafka.server.KafkaApis.handleFetchRequest',
    'kafka.server.ReplicaManager.handleProduceAppend',
    'kafka.server.ReplicaManager.appendRecords',
    'kafka.server.ReplicaManager.fetchMessages',
    'kafka.cluster.Partition.appendRecordsToLeader',
    'kafka.cluster.Partition.fetchRecords',
    'org.apache.kafka.storage.internals.log.UnifiedLog.appendAsLeader',
    'kafka.network.RequestChannel.sendResponse',
    'kafka.server.KafkaApis.handle',
  ],
  async prepare({ jdk, jar: home, jvmOptions, directory }) {
    const [port, controller] = await freePorts(2)
    const properties = join(directory, 'server.properties')
    const text = readFileSync(join(HERE, 'kafka/server.properties'), 'utf8')
      .replaceAll('@PORT@', String(port))
      .replaceAll('@CONTROLLER_PORT@', String(controller))
      .replaceAll('@DATA@', join(directory, 'data'))
    writeFileSync(properties, text)
    const onClassPath = (...folders) => ['-cp', [...folders, join(home, 'lib/*')].join(':')]
    const tool = [...onClassPath(), 'kafka.tools.StorageTool']
    const id = Buffer.from('jfluid-servers-1').toString('base64url')
    await promisify(execFile)(jdk.java, [...tool, 'format', '-t', id, '-c', properties])
    return {
      command: [jdk.java, '-Xmx1g', ...jvmOptions, ...onClassPath(), 'kafka.Kafka', properties],
      cwd: directory,
      env: {},
      isUp: () => listens(port),
      load: (csv, requests) => [
        ...[jdk.java, '-Xmx256m', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'],
        ...[...onClassPath(join(home, 'classes')), 'KafkaLoad'],
        ...[String(port), String(kafka.rate), csv, requests],
      ],
    }
  },
}

export const SERVERS = { boot, keycloak, kafka }

/**
 * @param {object} options
 * @param {string} options.directory  a writable directory
 * @param {readonly string[]} options.jvmOptions  in addition to the server's own options
 * @param {boolean} options.busy  whether each request verifies a bcrypt password, with the maximum load
 * @returns {Promise<Prepared>}
 */
export async function prepareServer(server, { jdk, jvmOptions, busy, directory }) {
  mkdirSync(directory, { recursive: true })
  return await server.prepare({ jdk, jar: await server.install(jdk), jvmOptions, busy, directory })
}

async function answers(url) {
  try {
    const { status } = await fetch(url, { signal: AbortSignal.timeout(2000) })
    return status < 400
  } catch {
    return false // not up yet
  }
}

function listens(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
