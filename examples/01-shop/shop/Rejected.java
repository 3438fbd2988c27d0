package shop;

/** An order that cannot be filled. An everyday event, not a failure of the shop. */
abstract class Rejected extends Exception {
    private static final long serialVersionUID = 1;

    Rejected(String message) {
        super(message);
        Call.REJECTED.hit();
    }

    /** HTTP status to answer with. */
    abstract int status();
}
