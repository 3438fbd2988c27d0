package counting;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.AdviceAdapter;

/**
 * One method that counts its calls:
 *
 *   int caller = Recorder.enter(id);
 *   try { body, with Recorder.resume(caller, id) at the start of each of its handlers }
 *   finally { Recorder.exit(caller); }
 *
 * In a constructor no handler can cover the call of super(), so one handler covers the code before it and one the code after it. After an
 * exception out of super(), the handler of the caller that catches the exception corrects the context.
 */
class CountingMethod extends AdviceAdapter {
    private static final String RECORDER = "counting/Recorder";
    private final int id;
    private final boolean root;
    private final boolean frames;
    private final boolean constructor;
    private final Set<Label> handlers = new HashSet<>();
    private final Label start = new Label();
    /**
     * Labels before and after the call of super() or this(). `uninitialised` is set again at each call of a constructor until `initialised`
     * is set.
     */
    private Label uninitialised;
    private Label initialised;
    private int caller;
    private boolean caught;

    CountingMethod(
        MethodVisitor next, int access, String name, String descriptor, int version, int id, boolean root) {
        super(Opcodes.ASM9, next, access, name, descriptor);
        this.id = id;
        this.root = root;
        frames = version >= Opcodes.V1_6;
        constructor = name.equals("<init>");
    }

    @Override
    public void visitCode() {
        super.visitCode();
        caller = newLocal(Type.INT_TYPE);
        mv.visitLdcInsn(id);
        mv.visitMethodInsn(INVOKESTATIC, RECORDER, root ? "enterRoot" : "enter", "(I)I", false);
        mv.visitVarInsn(ISTORE, caller);
        mv.visitLabel(start);
    }

    /** Called after super() in a constructor, and at the start of other methods. */
    @Override
    protected void onMethodEnter() {
        if (!constructor) return;
        initialised = new Label();
        mv.visitLabel(initialised);
    }

    @Override
    protected void onMethodExit(int opcode) {
        if (opcode == ATHROW) return; // the handler calls exit
        mv.visitVarInsn(ILOAD, caller);
        mv.visitMethodInsn(INVOKESTATIC, RECORDER, "exit", "(I)V", false);
    }

    @Override
    public void visitMaxs(int maxStack, int maxLocals) {
        Label end = new Label();
        mv.visitLabel(end);
        if (!constructor) handler(start, end, TOP);
        else if (initialised == null) handler(start, end, UNINITIALIZED_THIS);
        else {
            handler(initialised, end, TOP);
            handler(start, uninitialised, UNINITIALIZED_THIS);
        }
        super.visitMaxs(maxStack, maxLocals);
    }

    private static final Integer TOP = Opcodes.TOP;
    private static final Integer UNINITIALIZED_THIS = Opcodes.UNINITIALIZED_THIS;

    private void handler(Label from, Label to, Integer self) {
        if (from.getOffset() == to.getOffset()) return;
        Label handler = new Label();
        mv.visitTryCatchBlock(from, to, handler, null);
        mv.visitLabel(handler);
        if (frames) {
            Object[] locals = new Object[caller + 1];
            Arrays.fill(locals, TOP);
            if (constructor) locals[0] = self;
            locals[caller] = Opcodes.INTEGER;
            mv.visitFrame(F_NEW, locals.length, locals, 1, new Object[] {"java/lang/Throwable"});
        }
        mv.visitVarInsn(ILOAD, caller);
        mv.visitMethodInsn(INVOKESTATIC, RECORDER, "exit", "(I)V", false);
        mv.visitInsn(ATHROW);
    }

    @Override
    public void visitTryCatchBlock(Label from, Label to, Label handler, String type) {
        handlers.add(handler);
        super.visitTryCatchBlock(from, to, handler, type);
    }

    @Override
    public void visitLabel(Label label) {
        super.visitLabel(label);
        if (handlers.contains(label)) caught = true;
    }

    /** Called before each instruction. The frame of a handler is between its label and its first instruction. */
    private void instruction() {
        if (!caught) return;
        caught = false;
        mv.visitVarInsn(ILOAD, caller);
        mv.visitLdcInsn(id);
        mv.visitMethodInsn(INVOKESTATIC, RECORDER, "resume", "(II)V", false);
    }

    @Override
    public void visitInsn(int opcode) {
        instruction();
        super.visitInsn(opcode);
    }

    @Override
    public void visitIntInsn(int opcode, int operand) {
        instruction();
        super.visitIntInsn(opcode, operand);
    }

    @Override
    public void visitVarInsn(int opcode, int index) {
        instruction();
        super.visitVarInsn(opcode, index);
    }

    @Override
    public void visitTypeInsn(int opcode, String type) {
        instruction();
        super.visitTypeInsn(opcode, type);
    }

    @Override
    public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
        instruction();
        super.visitFieldInsn(opcode, owner, name, descriptor);
    }

    @Override
    public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
        instruction();
        if (constructor && initialised == null && name.equals("<init>")) {
            uninitialised = new Label();
            mv.visitLabel(uninitialised);
        }
        super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
    }

    @Override
    public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
        instruction();
        super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
    }

    @Override
    public void visitJumpInsn(int opcode, Label label) {
        instruction();
        super.visitJumpInsn(opcode, label);
    }

    @Override
    public void visitLdcInsn(Object value) {
        instruction();
        super.visitLdcInsn(value);
    }

    @Override
    public void visitIincInsn(int index, int increment) {
        instruction();
        super.visitIincInsn(index, increment);
    }

    @Override
    public void visitTableSwitchInsn(int min, int max, Label otherwise, Label... labels) {
        instruction();
        super.visitTableSwitchInsn(min, max, otherwise, labels);
    }

    @Override
    public void visitLookupSwitchInsn(Label otherwise, int[] keys, Label[] labels) {
        instruction();
        super.visitLookupSwitchInsn(otherwise, keys, labels);
    }

    @Override
    public void visitMultiANewArrayInsn(String descriptor, int dimensions) {
        instruction();
        super.visitMultiANewArrayInsn(descriptor, dimensions);
    }
}
