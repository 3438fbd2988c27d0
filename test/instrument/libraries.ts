// Libraries whose classes are all rewritten, with version and checksum. They come from several languages, compilers and years. Only the
// full tests download these libraries.

import type { Artifact } from '../support/maven.ts'

const COORDINATES_AND_CHECKSUM: readonly (readonly [string, string])[] = [
  // Current Java: servers, databases, mappers.
  [
    'org.apache.tomcat.embed:tomcat-embed-core:10.1.24',
    '8bced76143c505907256d10c5d13b510f941a381f2ec1dce11ab99c37b277901',
  ],
  [
    'org.springframework:spring-jcl:6.1.8',
    'aaf3cf8133435b4e96069ecf7303ea5601e82c5f80273a8556e7f5d712c2c281',
  ],
  [
    'org.springframework:spring-core:6.1.8',
    'aa1bd77c5c3fc62c3bcc6e461a768864d301db489a8d6a9fe31907547c0e3568',
  ],
  [
    'org.springframework:spring-beans:6.1.8',
    '0b61cfe36446671cb1f5d6904d263580e6c9f57890866058de27afdd43a33d7f',
  ],
  [
    'org.springframework:spring-aop:6.1.8',
    '34a94cc105d68316a6a7dfbd0df58206e46acc5050e00cdb12d50bc34c9901bf',
  ],
  [
    'org.springframework:spring-expression:6.1.8',
    '9cd9833aa512570d0cd73a027c7daa6c58db0f3a8910e63e652b5f931e7acffb',
  ],
  [
    'org.springframework:spring-context:6.1.8',
    'd55a10880b52dc97496b3eece71ee82972206f7bd6ca13fa12bd8f2f4aae679f',
  ],
  [
    'org.springframework:spring-web:6.1.8',
    '82ad9c1e574a0e0d784520c6d2e5409f6f0d22bbdc4029bbed23a40a1bac9398',
  ],
  [
    'org.springframework:spring-webmvc:6.1.8',
    'e39c24eea169134a430e9a1980537fab92aeb91498ee26b762e5166362ace0aa',
  ],
  ['com.h2database:h2:2.2.224', 'b9d8f19358ada82a4f6eb5b174c6cfe320a375b5a9cb5a4fe456d623e6e55497'],
  [
    'org.hibernate.orm:hibernate-core:6.5.2.Final',
    '63b22b49daa0b7b930b45326f7df81f1ec74f33e67d3ab1ff5c58c7e0597c825',
  ],
  [
    'com.github.jsqlparser:jsqlparser:4.9',
    '54bd92662fbc084f4fc6d46728d066841cac3a8a2fae4a82925c9caeac19f754',
  ],
  ['com.google.guava:guava:33.2.0-jre', '99f491e86262ce38d13b3581d40f77acdb4696a9505447c3154474c3192908dd'],
  // Libraries that the classes above need for linking.
  [
    'jakarta.persistence:jakarta.persistence-api:3.1.0',
    '475389446d35c6f46c565728b756dc508c284644ea2690644e0d8e7e339d42fd',
  ],
  [
    'jakarta.transaction:jakarta.transaction-api:2.0.1',
    '50c0a7c760c13ae6c042acf182b28f0047413db95b4636fb8879bcffab5ba875',
  ],
  [
    'jakarta.xml.bind:jakarta.xml.bind-api:4.0.0',
    '57e3796ad5753640088f5f9d3c53c183f2c250b7dad90529ea3e19a5515aa122',
  ],
  [
    'org.jboss.logging:jboss-logging:3.5.3.Final',
    '7b119460de174195aca412dfed52ca0bbef0ece26c2d74301b6172cfadf4ff59',
  ],
  ['com.fasterxml:classmate:1.5.1', 'aab4de3006808c09d25dd4ff4a3611cfb63c95463cfd99e73d2e1680d229a33b'],
  ['org.antlr:antlr4-runtime:4.13.0', 'bd7f7b5d07bc0b047f10915b32ca4bb1de9e57d8049098882e4453c88c076a5d'],
  ['io.smallrye:jandex:3.1.2', 'dee12fa1787d5523ed1a02d6c63b19e7aef6ac560f7c6d70595db01aa37e041e'],
  [
    'org.hibernate.common:hibernate-commons-annotations:6.0.6.Final',
    'cd974e0a8481fafdbaf9b4a0f08bb5a6c969b0365482763eedf77e6fd7f493b7',
  ],
  // Libraries from other compilers.
  [
    'org.jetbrains.kotlin:kotlin-stdlib:1.9.24',
    '858b902696da9cf585ab9d98ffc1c2712269828354dfe9107e3711b084a36468',
  ],
  [
    'org.scala-lang:scala-library:2.13.14',
    '43e0ca1583df1966eaf02f0fbddcfb3784b995dd06bfc907209347758ce4b7e3',
  ],
  [
    'org.scala-lang:scala3-library_3:3.3.3',
    '16fe064f1373ed6f098d3d9f812a398ed5075db4bf2721c04e630502cb352816',
  ],
  ['org.clojure:clojure:1.11.3', '9c305409328e2b96e85dd2b5eb4b75810c67b76ba70ae4d0f6dde9bcfb55b1b7'],
  ['org.apache.groovy:groovy:4.0.21', '6743c1fef504a404945821e33cf746a6456caf686c6c6e72931716ec81c6516c'],
  [
    'org.codehaus.groovy:groovy-all:1.8.9',
    '92e6d2f6341a9e2270ba9f377c1c095b415c51423e42937cecff6a0628b61069',
  ],
  // Shrunk by ProGuard. The names of the last library are also obfuscated.
  [
    'org.jetbrains.kotlin:kotlin-reflect:1.9.24',
    'a65166445bb85ef816cde127279fe0017d2b7cc439b3b972390e1b736d64e94c',
  ],
  [
    'org.jetbrains.kotlin:kotlin-compiler-embeddable:1.9.24',
    'e71ff19e6b141ab85a9328fd010941531a302543026bd4244c95adc208d501f6',
  ],
  ['com.ibm.db2:jcc:11.5.9.0', '3d7ddbfe04b63cc349fe6cc7f5aaf92cf21a1a11dd57225298aa716f9f4ecda4'],
  // Class file versions 45 to 49, many with subroutines. They have no frames, and HotSpot uses its older verifier.
  [
    'commons-collections:commons-collections:2.1',
    '443c2f6379ea2d9300af4733a3ad561032139c5a7890b5876c0b33212dd478f5',
  ],
  [
    'commons-collections:commons-collections:3.2.1',
    '87363a4c94eaabeefd8b930cb059f66b64c9f7d632862f23de3012da7660047b',
  ],
  ['log4j:log4j:1.2.8', 'c316595a68f7bc74ee0931e0c4435481cdeddc91c95d2cb78eada107c5b01a65'],
  ['xerces:xercesImpl:2.0.2', '9529cdc02d4684e860a5b6070b156db03db71c1159d5a93aab53164b9a136f44'],
  ['xalan:xalan:2.5.1', '8dae3b4d6d84def32422a2110b121193817e837b263a7b0ef4950c110754d6e2'],
  ['bsh:bsh:1.3.0', '9b04edc75d19db54f1b4e8b5355e9364384c6cf71eb0a1b9724c159d779879f8'],
  ['jython:jython:2.1', '31b5325b1d478a6b0221d4b848baac2401cb3934a6732a4b94d5fdd44f8f6cde'],
  ['rhino:js:1.5R4.1', 'd817bcb40cfa7c237d5619421db98e0dcb9f68f863c296ac045b9134b61596fa'],
  ['hsqldb:hsqldb:1.8.0.1', '427e307e70fc4dbf5000eb59c86e8ac690671e450f5645f8cd689e7e478815d3'],
  ['com.ibm.icu:icu4j:3.4.4', 'ea15945e590d2b181d630849c26f7f06af4544055230b5219a7e5ecd1d45942e'],
  ['net.bytebuddy:byte-buddy:1.14.15', '7472e3961992c12a9fd4f6d67c21de4280abe18f292704dd49d7338289f8acf5'],
  // Libraries with large methods.
  ['com.ibm.icu:icu4j:75.1', '543e43a91d1499e331c711a756f833d6fb8cc019f9c9913c0bdf4d53009932d5'],
]

export const LIBRARIES: readonly Artifact[] = COORDINATES_AND_CHECKSUM.map(([coordinates, sha256]) => ({
  coordinates,
  sha256,
}))
