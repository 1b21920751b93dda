import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;

/**
 * A consumer in a process of its own, which can be stopped and killed. Its main
 * method runs a {@link GroupConsumer}: GroupProcess NAME TOPICS KEY=VALUE..., and
 * prints a line for all that happens to it.
 */
class GroupProcess extends GroupMember {
    private final Process process;

    GroupProcess(Audience audience, String name, Map<String, Object> configs, Set<String> topics) throws IOException {
        super(audience, name, "consumer".equals(configs.get("group.protocol")) ? GroupType.CONSUMER : GroupType.CLASSIC);
        var command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/java", "-Xmx100m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
            "-cp", System.getProperty("java.class.path"), "-Dlog4j2.configurationFile=" + System.getProperty("log4j2.configurationFile"),
            "-Dkf.log=" + System.getProperty("kf.log") + "." + name, "GroupProcess", name, String.join(",", topics)));
        configs.forEach((key, value) -> command.add(key + "=" + value));
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    @Override
    public void run() {
        try (var in = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            String line;
            while ((line = in.readLine()) != null) {
                happened(line.split(" "));
            }
        } catch (IOException e) {
            failure = e;
        }
        audience.gone(this);
    }

    /** Lets the process go on, which others must not overtake. */
    private void heard() throws IOException {
        process.getOutputStream().write('\n');
        process.getOutputStream().flush();
    }

    private void happened(String[] words) throws IOException {
        switch (words[0]) {
            case "given" -> {
                audience.given(this, partitions(words));
                heard();
            }
            case "taken" -> {
                audience.taken(this, partitions(words));
                heard();
            }
            case "read" -> {
                reads++;
                audience.read(this, partition(words[1]), Long.parseLong(words[2]));
            }
            case "member" -> member(words[1], Integer.parseInt(words[2]));
            default -> audience.fault(getName() + " says " + String.join(" ", words));
        }
    }

    private static List<TopicPartition> partitions(String[] words) {
        return Arrays.stream(words).skip(1).map(GroupProcess::partition).toList();
    }

    private static TopicPartition partition(String text) {
        int dash = text.lastIndexOf('-');
        return new TopicPartition(text.substring(0, dash), Integer.parseInt(text.substring(dash + 1)));
    }

    /** Stops it, heartbeats and all, or lets it go on, as signals of that name do. */
    void signal(String name) throws Exception {
        var kill = new ProcessBuilder("kill", "-" + name, String.valueOf(process.pid())).inheritIO().start();
        if (kill.waitFor() != 0) {
            throw new IOException("kill -" + name + " ends with " + kill.exitValue());
        }
    }

    /** Kills it, whichever way it is to leave. What it has said until then is heard. */
    @Override
    void leave(GroupMembershipOperation how) throws Exception {
        signal("KILL");
    }

    public static void main(String[] args) throws Exception {
        var configs = new HashMap<String, Object>();
        for (String arg : Arrays.asList(args).subList(2, args.length)) {
            configs.put(arg.substring(0, arg.indexOf('=')), arg.substring(arg.indexOf('=') + 1));
        }
        var printer = new Printer();
        new GroupConsumer(printer, args[0], configs, Set.of(args[1].split(",")), null).start();
        while (System.in.read() >= 0) {
            printer.heard.release();
        }
        // The parent is gone.
        Runtime.getRuntime().halt(9);
    }

    private static class Printer implements Audience {
        final Semaphore heard = new Semaphore(0);

        private synchronized void say(String text) {
            System.out.println(text);
        }

        private static String text(Collection<TopicPartition> partitions) {
            return partitions.stream().map(p -> " " + p).collect(Collectors.joining());
        }

        @Override
        public void given(GroupMember m, Collection<TopicPartition> partitions) {
            say("given" + text(partitions));
            heard.acquireUninterruptibly();
        }

        @Override
        public void taken(GroupMember m, Collection<TopicPartition> partitions) {
            say("taken" + text(partitions));
            heard.acquireUninterruptibly();
        }

        @Override
        public void read(GroupMember m, TopicPartition p, long offset) {
            say("read " + p + " " + offset);
        }

        @Override
        public void changed(GroupMember m) {
            say("member " + m.id + " " + m.generation);
        }

        @Override
        public void gone(GroupMember m) {
            say("gone: " + m.failure);
        }

        @Override
        public void fault(String text) {
            say(text);
        }
    }
}
