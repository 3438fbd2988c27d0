import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.zip.InflaterInputStream;
import org.netbeans.lib.profiler.results.CCTNode;
import org.netbeans.lib.profiler.results.cpu.CPUResultsSnapshot;
import org.netbeans.lib.profiler.results.cpu.FlatProfileContainer;
import org.netbeans.lib.profiler.results.cpu.PrestimeCPUCCTNode;

/**
 * Prints what the NetBeans profiler reads in .nps files: `tree` lines of each thread, and `flat` lines of all of them together.
 *
 * The snapshot is read by the profiler's own class. What is around it in the file is read as LoadedSnapshot.load reads
 * it, which is in a module with a user interface that is not published.
 */
class ReadSnapshot {
    public static void main(String[] files) throws IOException {
        for (String file : files) {
            System.out.println("file " + new File(file).getName());
            try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(file)))) {
                read(in);
            }
        }
    }

    private static void read(DataInputStream in) throws IOException {
        byte[] magic = new byte[10];
        in.readFully(magic);
        check(new String(magic, "US-ASCII").equals("nBpRoFiLeR"), "magic");
        check(in.readByte() == 1, "major version");
        check(in.readByte() == 2, "minor version");
        check(in.readInt() == 1, "type");
        int compressed = in.readInt();
        int length = in.readInt();
        byte[] bytes = new byte[compressed];
        in.readFully(bytes);
        InflaterInputStream inflated = new InflaterInputStream(new ByteArrayInputStream(bytes));
        byte[] plain = inflated.readAllBytes();
        check(plain.length == length, "length");
        DataInputStream data = new DataInputStream(new ByteArrayInputStream(plain));
        CPUResultsSnapshot snapshot = new CPUResultsSnapshot();
        snapshot.readFromStream(data);
        check(data.read() == -1, "end of the snapshot");
        byte[] settings = new byte[in.readInt()];
        in.readFully(settings);
        new java.util.Properties().load(new ByteArrayInputStream(settings));
        System.out.println("comments " + in.readUTF().replace('\n', '|'));
        check(in.read() == -1, "end of the file");
        print(snapshot);
    }

    private static void print(CPUResultsSnapshot snapshot) {
        System.out.println("span " + snapshot.getBeginTime() + " " + (snapshot.getTimeTaken() - snapshot.getBeginTime()));
        for (int id : snapshot.getThreadIds()) {
            System.out.println("thread " + snapshot.getThreadNameForId(id));
            tree(snapshot.getContainerForThread(id, CPUResultsSnapshot.METHOD_LEVEL_VIEW).getRootNode(), 0);
        }
        FlatProfileContainer flat = snapshot.getFlatProfile(-1, CPUResultsSnapshot.METHOD_LEVEL_VIEW);
        for (int row = 0; row < flat.getNRows(); row++) {
            String[] name = snapshot.getMethodClassNameAndSig(flat.getMethodIdAtRow(row), CPUResultsSnapshot.METHOD_LEVEL_VIEW);
            System.out.println("flat " + flat.getNInvocationsAtRow(row) + " " + flat.getTotalTimeInMcs0AtRow(row) + " "
                    + flat.getTimeInMcs0AtRow(row) + " " + String.join("\t", name));
        }
    }

    private static void tree(PrestimeCPUCCTNode node, int depth) {
        if (depth > 0) {
            String[] name = node.getMethodClassNameAndSig();
            System.out.println("tree " + depth + " " + node.getNCalls() + " " + node.getTotalTime0() + " " + name[0] + "." + name[1]);
        }
        CCTNode[] children = node.getChildren();
        if (children == null) return;
        for (CCTNode child : children) {
            PrestimeCPUCCTNode it = (PrestimeCPUCCTNode) child;
            if (!it.isSelfTimeNode()) tree(it, depth + 1);
        }
    }

    private static void check(boolean isRight, String what) {
        if (!isRight) throw new IllegalStateException("wrong: " + what);
    }
}
