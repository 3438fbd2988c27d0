/** All packages of the JDK's runtime images, those of SAX, DOM and others among them whose names do not tell. */
const OF_JDK =
  /^(?:java|javax|jdk|sun|com[./]sun|netscape[./]javascript|org[./](?:ietf[./]jgss|jcp[./]xml|w3c[./]dom|xml[./]sax))[./]/

/** Whether a class, or a pattern of classes, is named as those of the JDK are; with dots or slashes. */
export function isJdkName(name: string): boolean {
  return OF_JDK.test(name)
}
