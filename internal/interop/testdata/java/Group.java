import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.UnreleasedInstanceIdException;

/**
 * Lets groups of consumers go through all that happens to groups, side by side:
 * Group BOOTSTRAP [NAME...]. It prints a line for each: its name, a tab, and
 * "ok" with counts or what is wrong.
 */
public class Group {
    private static final GroupMembershipOperation LEAVE = GroupMembershipOperation.LEAVE_GROUP;
    private static final GroupMembershipOperation DEFAULT = GroupMembershipOperation.DEFAULT;
    private static final GroupMembershipOperation REMAIN = GroupMembershipOperation.REMAIN_IN_GROUP;

    private interface Scenario {
        void run(GroupCrowd c, GroupKind kind) throws Exception;
    }

    private final String bootstrap;
    private final Set<String> wanted;
    private final Map<String, String> results = new ConcurrentSkipListMap<>();
    private final List<Thread> runs = new ArrayList<>();

    private Group(String bootstrap, Set<String> wanted) {
        this.bootstrap = bootstrap;
        this.wanted = wanted;
    }

    public static void main(String[] args) throws Exception {
        var g = new Group(args[0], new HashSet<>(List.of(args).subList(1, args.length)));
        for (GroupKind kind : GroupKind.KINDS) {
            g.begin("life", kind, Group::life);
        }
        for (GroupKind kind : List.of(GroupKind.RANGE, GroupKind.UNIFORM)) {
            g.begin("static", kind, Group::statics);
            g.begin("pattern", kind, Group::pattern);
            g.begin("frozen", kind, Group::frozen);
        }
        for (GroupKind kind : List.of(GroupKind.COOPERATIVE, GroupKind.UNIFORM)) {
            g.begin("gradual", kind, Group::gradual);
            g.begin("fifty", kind, Group::fifty);
        }
        for (GroupKind kind : List.of(GroupKind.RANGE, GroupKind.COOPERATIVE)) {
            g.begin("upgrade", kind, Group::upgrade);
        }
        for (Thread t : g.runs) {
            t.join();
        }
        g.results.forEach((name, result) -> System.out.println(name + "\t" + result.replace("\n", " / ")));
    }

    private void begin(String what, GroupKind kind, Scenario scenario) {
        String name = what + "-" + kind.name();
        if (!wanted.isEmpty() && !wanted.contains(name)) {
            return;
        }
        var run = new Thread(() -> {
            long start = System.currentTimeMillis();
            try (var c = new GroupCrowd(bootstrap, name).with(null, kind.perTopic())) {
                scenario.run(c, kind);
                c.check();
                results.put(name, "ok " + c.counts() + " ms=" + (System.currentTimeMillis() - start));
            } catch (Throwable e) {
                var trace = new java.io.StringWriter();
                e.printStackTrace(new java.io.PrintWriter(trace));
                results.put(name, trace.toString());
            }
        }, name);
        run.start();
        runs.add(run);
    }

    /** Members join alone and together, up to 12, leave, die, sleep too long, and come back. */
    private static void life(GroupCrowd c, GroupKind kind) throws Exception {
        c.topic(c.group + "-a", 12);
        c.topic(c.group + "-b", 5);
        kind.session(c);
        c.load();
        for (int i = 0; i < 3; i++) {
            c.join(kind.configs());
            c.stable();
        }
        c.join(9, kind.configs());
        c.stable();
        c.leave(LEAVE, c.present().subList(0, 1));
        c.stable();
        c.leave(LEAVE, c.present().subList(0, 4));
        c.stable();

        // Two die: nobody hears of it before their session is over.
        var mortal = c.join(2, kind.mortal());
        c.stable();
        c.leave(REMAIN, mortal);
        c.join(kind.configs());
        c.stable();

        // Two poll too seldom: they are thrown out, and join again when they poll.
        var lazy = c.join(2, kind.and("max.poll.interval.ms", 1500));
        c.stable();
        for (GroupConsumer m : lazy) {
            m.pause();
            c.absent(m);
        }
        c.stable();
        for (GroupConsumer m : lazy) {
            c.back(m);
            m.unpause();
        }
        c.stable();
        c.join(3, kind.configs());
        c.leave(LEAVE, c.present().subList(0, 3));
        c.stable();

        c.drain();
        c.leave(LEAVE, c.present());
        c.empty();
        // One goes on from the offsets.
        c.load();
        c.join(kind.configs());
        c.stable();
        c.drain();
    }

    /** A process stands still for longer than its session, and goes on; then it is killed. */
    private static void frozen(GroupCrowd c, GroupKind kind) throws Exception {
        c.topic(c.group, 12);
        kind.session(c);
        c.load();
        c.join(2, kind.configs());
        var process = c.joinProcess(kind.mortal());
        c.stable();
        long reads = process.reads;
        GroupCrowd.await(() -> process.reads > reads + 50 ? null : "the process reads nothing");
        process.signal("STOP");
        c.absent(process);
        c.stable();
        c.back(process);
        process.signal("CONT");
        c.stable();
        c.leave(REMAIN, List.of(process));
        c.stable();
        c.drain();
    }

    /** Static members come back within their session, and nobody else notices. */
    private static void statics(GroupCrowd c, GroupKind kind) throws Exception {
        c.topic(c.group, 12);
        c.load();
        var first = c.join(kind.and("group.instance.id", "i0"));
        for (int i = 1; i < 4; i++) {
            c.join(kind.and("group.instance.id", "i" + i));
        }
        c.join(kind.configs());
        c.stable();
        var others = c.present().subList(1, 5);
        int gone = others.stream().mapToInt(m -> m.revoked + m.lost).sum();
        int generation = first.generation;
        for (GroupMembershipOperation how : List.of(DEFAULT, REMAIN, DEFAULT)) {
            var had = c.owned(first);
            c.leave(how, List.of(first));
            first = c.join(kind.and("group.instance.id", "i0"));
            c.stable();
            if (!c.owned(first).equals(had)) {
                c.fault("the static member had " + had + " and has " + c.owned(first));
            }
            if (first.generation != generation) {
                c.fault("generation " + generation + " becomes " + first.generation + " when a static member comes back");
            }
        }
        // In the classic protocol the last to come is right, in the new one the first.
        var wrong = first;
        if (kind.classic()) {
            c.absent(first);
        }
        var twin = c.join(kind.and("group.instance.id", "i0"));
        if (!kind.classic()) {
            wrong = twin;
            c.absent(twin);
        }
        wrong.join(60_000);
        boolean fenced = kind.classic() ? wrong.failure instanceof FencedInstanceIdException : wrong.failure instanceof UnreleasedInstanceIdException;
        if (!fenced) {
            c.fault("a duplicate instance id gets " + wrong.failure);
        }
        c.stable();
        if (others.stream().mapToInt(m -> m.revoked + m.lost).sum() != gone) {
            c.fault("other members have lost partitions when a static member came back");
        }
        c.drain();
    }

    /** A pattern takes in topics that come later. */
    private static void pattern(GroupCrowd c, GroupKind kind) throws Exception {
        c.with(c.group + "-(one|two)[0-9]*", kind.perTopic());
        c.topic(c.group + "-one", 6);
        c.load();
        c.join(3, kind.configs());
        c.stable();
        c.topic(c.group + "-two2", 4);
        c.stable();
        c.admin.createTopics(List.of(new NewTopic(c.group + "-other", 1, (short) 1))).all().get();
        c.leave(LEAVE, c.present().subList(0, 1));
        c.stable();
        c.drain();
    }

    /** Whoever keeps partitions reads on while others are moved. */
    private static void gradual(GroupCrowd c, GroupKind kind) throws Exception {
        c.topic(c.group, 12);
        c.load();
        var kept = c.join(kind.configs());
        var slow = c.join(kind.configs());
        c.stable();
        int gone = kept.revoked + slow.revoked;
        // The slow one holds up the rebalance: it is at work on records.
        slow.pause();
        var third = c.join(kind.configs());
        var held = kind.classic() ? Set.of(GroupState.PREPARING_REBALANCE) : Set.of(GroupState.ASSIGNING, GroupState.RECONCILING);
        GroupCrowd.await(() -> {
            var d = c.describe();
            return held.contains(d.groupState()) && d.members().size() == 3 ? null : d.toString();
        });
        long reads = kept.reads;
        GroupCrowd.await(() -> kept.reads > reads + 50 ? null : "a member that keeps partitions reads nothing in the rebalance");
        if (!held.contains(c.describe().groupState())) {
            c.fault("the rebalance did not last: " + c.describe());
        }
        slow.unpause();
        c.stable();
        // 12 partitions on three: each of the first two gives up two, and no more.
        if (kept.revoked + slow.revoked - gone != 4 || kept.lost + slow.lost != 0) {
            c.fault(kept.revoked + " and " + slow.revoked + " partitions are revoked, " + gone + " before; " + kept.lost + " and " + slow.lost + " are lost");
        }
        if (third.revoked != 0 || c.owned(third).size() != 4) {
            c.fault("the third member has " + c.owned(third));
        }
        c.drain();
    }

    /** Fifty members share a hundred partitions. */
    private static void fifty(GroupCrowd c, GroupKind kind) throws Exception {
        c.topic(c.group, 100);
        c.load();
        c.join(50, kind.configs());
        c.stable();
        c.leave(LEAVE, c.present().subList(0, 25));
        c.stable();
        c.join(25, kind.configs());
        c.stable();
        c.drain();
    }

    /** Members change to the new protocol one after the other, and back. */
    private static void upgrade(GroupCrowd c, GroupKind kind) throws Exception {
        c.topic(c.group, 12);
        c.load();
        c.join(3, kind.configs());
        c.stable();
        var before = c.offsets();
        for (GroupKind next : List.of(GroupKind.UNIFORM, kind)) {
            for (int i = 0; i < 3; i++) {
                c.leave(LEAVE, c.present().subList(0, 1));
                c.join(next.configs());
                c.stable();
            }
            var type = next.classic() ? GroupType.CLASSIC : GroupType.CONSUMER;
            if (c.describe().type() != type) {
                c.fault("the group is " + c.describe());
            }
        }
        c.offsets().forEach((p, offset) -> {
            if (before.containsKey(p) && offset < before.get(p)) {
                c.fault(p + " is at " + offset + ", and was at " + before.get(p));
            }
        });
        c.drain();
    }
}
