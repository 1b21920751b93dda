import java.nio.charset.StandardCharsets;

/**
 * Runs the main method of the class that its first argument names. A line "stop"
 * on standard input ends it as SIGTERM does, the end of the input at once: so no
 * process outlives the test.
 */
public class Node {
    public static void main(String[] args) throws Throwable {
        Thread watch = new Thread(() -> {
            try {
                var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in, StandardCharsets.UTF_8));
                String line;
                while ((line = in.readLine()) != null) {
                    if (line.equals("stop")) {
                        new Thread(() -> System.exit(0)).start();
                    }
                }
            } catch (java.io.IOException e) {
                // as at the end of the input
            }
            Runtime.getRuntime().halt(9);
        });
        watch.setDaemon(true);
        watch.start();
        var main = Class.forName(args[0]).getMethod("main", String[].class);
        try {
            main.invoke(null, (Object) java.util.Arrays.copyOfRange(args, 1, args.length));
        } catch (java.lang.reflect.InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
