package jfluid.agent;

import java.io.IOException;

/**
 * A group of client commands with common state. {@link Session} maps commands to topics. Members are confined to the session's thread
 * unless stated otherwise.
 */
abstract class Topic {
    /** Returned in place of an answer that is sent later. */
    static final Object LATER = new Object();

    /**
     * @param m the message: number, command, arguments (src/wire/messages.ts)
     * @return the answer
     */
    abstract Object command(String op, Object[] m) throws IOException;

    static IOException unknown(String op) {
        return new IOException("unknown command " + op);
    }
}
