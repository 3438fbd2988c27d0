package jfluid.agent;

import java.io.IOException;

/**
 * Commands of the client that belong together, and what is kept from one of them to the next. {@link Session} has the table that says which
 * command is whose. All of it is for the session's thread, but where a member says otherwise.
 */
abstract class Topic {
    /** In place of an answer, where it is sent later. */
    static final Object LATER = new Object();

    /**
     * @param m the message: its number, the command, and from the third on what belongs to it (src/wire/messages.ts)
     * @return what the client is answered
     */
    abstract Object command(String op, Object[] m) throws IOException;

    static IOException unknown(String op) {
        return new IOException("unknown command " + op);
    }
}
