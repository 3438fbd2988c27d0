// Derives facts from method names: the --root syntax, whether a method can be a root, and whether it belongs to the JDK, a framework or the
// application.

import { isJdkName } from '../../base/jdk-names.ts'
import type { MethodName } from '../../cct/tree.ts'

/** Returns the method in the syntax of `--root`. */
export function rootText({ class: className, method }: Pick<MethodName, 'class' | 'method'>): string {
  return `${className}.${method === '<init>' ? 'new' : method}`
}

/** Returns whether a class belongs to the JDK, judged by its name and its loader. */
export function isOfJdk({ class: className, loader }: MethodName): boolean {
  if (loader === 'bootstrap' || loader === 'platform') return true
  return isJdkName(className)
}

/** Returns whether a method may be a root: it has its own code, in a class that can be redefined. The names decide. */
export function isUsableRoot(name: MethodName): boolean {
  if (name.class === '' || name.method === '<clinit>') return false
  // Excludes hidden classes (lambdas, proxies of the JVM), classes of reflection, proxies of frameworks, and classes of jfluid.
  return !/\$\$Lambda|\/0x|\+0x|\$Proxy\d+$|\$\$(?:FastClass|Enhancer|SpringCGLIB)|\$quarkusrestinvoker\$|_(?:ClientProxy|Subclass)$|^jfluid\./.test(
    name.class,
  )
}

/** Packages of known frameworks and libraries. */
const FRAMEWORKS = new RegExp(
  `^(?:${[
    'jakarta|reactor|kotlinx?|scala|akka|groovy|clojure|play|zio|cats|oracle|feign|okhttp3|okio|retrofit2|javassist|ognl|freemarker',
    'ch\\.qos|co\\.elastic|datadog|redis\\.clients|software\\.amazon|net\\.(?:bytebuddy|sf)',
    'com\\.(?:zaxxer|fasterxml|google|mysql|microsoft\\.sqlserver|ibm\\.db2|mongodb|mchange|netflix|lmax|linecorp|typesafe|codahale|vaadin|caucho|ctc)',
    'io\\.(?:netty|vertx|quarkus|smallrye|undertow|agroal|grpc|micronaut|micrometer|helidon|javalin|jsonwebtoken|reactivex|projectreactor)',
    'io\\.(?:opentelemetry|opentracing|prometheus|dropwizard|lettuce|r2dbc|jooby|ktor)',
    'org\\.apache\\.(?:catalina|coyote|tomcat|jasper|commons|http|hc|logging|log4j|struts|wicket|cxf|camel|activemq)',
    'org\\.apache\\.kafka\\.(?:clients|streams|connect)',
    'org\\.(?:springframework|hibernate|jboss|wildfly|xnio|glassfish|eclipse|infinispan|jgroups|slf4j|aspectj|quartz|h2|postgresql)',
    'org\\.(?:mariadb|hsqldb|bouncycastle|thymeleaf|mybatis|jooq|reactivestreams|codehaus|objectweb)',
  ].join('|')})\\.`,
)

/** Returns whether a method belongs to the application: it does not belong to the JDK or to a known framework or library. */
export function isOfApplication(name: MethodName): boolean {
  return name.class !== '' && !isOfJdk(name) && !FRAMEWORKS.test(name.class)
}
