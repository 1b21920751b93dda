import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs command-line tools in one process as often as it is asked to. A request is
 * the name of a class with a main method, the standard input of the tool, the
 * number of arguments and the arguments; the answer is the exit code, standard
 * output and standard error. All numbers have four bytes, texts are UTF-8 behind
 * their length.
 */
public class Tools {
    private static class Exited extends Error {
        final int code;

        Exited(int code) {
            super(null, null, false, false);
            this.code = code;
        }
    }

    // The first wish of a tool to end; some catch it, and exit again, with another code.
    private static Exited exited;

    private static byte[] bytes(DataInputStream in) throws java.io.IOException {
        return in.readNBytes(in.readInt());
    }

    public static void main(String[] args) throws Exception {
        var in = new DataInputStream(new java.io.BufferedInputStream(System.in));
        var out = new DataOutputStream(new java.io.BufferedOutputStream(System.out));
        Exit.Procedure exit = (code, message) -> {
            if (exited == null) {
                exited = new Exited(code);
            }
            throw exited;
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        while (true) {
            String tool;
            try {
                tool = new String(bytes(in), StandardCharsets.UTF_8);
            } catch (EOFException e) {
                return;
            }
            System.setIn(new ByteArrayInputStream(bytes(in)));
            String[] arguments = new String[in.readInt()];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = new String(bytes(in), StandardCharsets.UTF_8);
            }
            var stdout = new ByteArrayOutputStream();
            var stderr = new ByteArrayOutputStream();
            out.writeInt(run(tool, arguments, stdout, stderr));
            for (ByteArrayOutputStream text : new ByteArrayOutputStream[] {stdout, stderr}) {
                out.writeInt(text.size());
                text.writeTo(out);
            }
            out.flush();
        }
    }

    private static int run(String tool, String[] args, OutputStream stdout, OutputStream stderr) {
        System.setOut(new PrintStream(stdout, false, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(stderr, false, StandardCharsets.UTF_8));
        exited = null;
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) args);
            return exited == null ? 0 : exited.code;
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Exited) {
                return exited.code;
            }
            System.err.print("Exception in thread \"main\" ");
            e.getCause().printStackTrace();
            return 1;
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
            return 1;
        } finally {
            System.out.flush();
            System.err.flush();
        }
    }
}
