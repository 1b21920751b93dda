import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.tools.DumpLogSegments;

/**
 * Runs kafka-dump-log in one process as often as it is asked to. A request on
 * standard input is the number of arguments and the arguments, each with its
 * length; the answer is the exit code, and with their lengths standard output and
 * standard error. All numbers have four bytes, texts are UTF-8.
 */
public class Dump {
    private static class Exited extends Error {
        final int code;

        Exited(int code) {
            super(null, null, false, false);
            this.code = code;
        }
    }

    public static void main(String[] args) throws Exception {
        var in = new DataInputStream(new java.io.BufferedInputStream(System.in));
        var out = new DataOutputStream(new java.io.BufferedOutputStream(System.out));
        Exit.setExitProcedure((code, message) -> {
            throw new Exited(code);
        });
        Exit.setHaltProcedure((code, message) -> {
            throw new Exited(code);
        });
        while (true) {
            int n;
            try {
                n = in.readInt();
            } catch (EOFException e) {
                return;
            }
            String[] arguments = new String[n];
            for (int i = 0; i < n; i++) {
                arguments[i] = new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
            }
            var stdout = new ByteArrayOutputStream();
            var stderr = new ByteArrayOutputStream();
            out.writeInt(run(arguments, stdout, stderr));
            for (ByteArrayOutputStream text : new ByteArrayOutputStream[] {stdout, stderr}) {
                out.writeInt(text.size());
                text.writeTo(out);
            }
            out.flush();
        }
    }

    private static int run(String[] args, OutputStream stdout, OutputStream stderr) {
        System.setOut(new PrintStream(stdout, false, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(stderr, false, StandardCharsets.UTF_8));
        try {
            DumpLogSegments.main(args);
            return 0;
        } catch (Exited e) {
            return e.code;
        } catch (Throwable e) {
            System.err.print("Exception in thread \"main\" ");
            e.printStackTrace();
            return 1;
        } finally {
            System.out.flush();
            System.err.flush();
        }
    }
}
