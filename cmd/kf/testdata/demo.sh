#!/usr/bin/env bash
# Shows what kf does: a broker with its files, then files that Apache Kafka 4.4.0
# wrote (README.md in kafka-4.4 says which). "make demo" runs it with kf and the
# client internal/demo in PATH; a test compares what it prints with demo.golden.
set -u
cd "$(dirname "$0")/kafka-4.4" || exit 1
# Show what kf does without anybody's settings.
for name in $(compgen -e KF_); do unset "$name"; done
export KF_CONFIG=/dev/null XDG_CONFIG_HOME=/dev/null

heading() { printf '\n\033[1m== %s\033[0m\n' "$1"; }
if [ ! -t 1 ] || [ -n "${NO_COLOR-}" ]; then heading() { printf '\n== %s\n' "$1"; }; fi

why() { printf '   %s\n' "$@"; }

# try runs kf with these arguments, which must end with exit code $1.
try() {
    local want=$1 got=0
    shift
    printf '\n$ kf'
    local word
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_.,:/=-]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    kf "$@" 2>&1 || got=$?
    if [ "$got" -ne 0 ]; then printf '(exit code %d)\n' "$got"; fi
    if [ "$got" -ne "$want" ]; then
        echo "demo: exit code $got, want $want" >&2
        exit 1
    fi
}

# serve starts the broker on the directory data, and waits until it is ready.
serve() {
    printf '\n$ kf serve --data-dir data %s &\n' "$*"
    (cd "$tmp" && exec kf serve --data-dir data "$@" --listen 127.0.0.1:0 --ready-file ready --log-level warn >out 2>&1) &
    broker=$!
    for _ in $(seq 500); do
        [ -e "$tmp/ready" ] && [ -s "$tmp/out" ] && break
        kill -0 "$broker" 2>/dev/null || break
        sleep 0.02
    done
    cat "$tmp/out"
    if [ ! -e "$tmp/ready" ]; then
        echo 'demo: the broker did not start' >&2
        exit 1
    fi
    KF_BOOTSTRAP_SERVERS=$(cat "$tmp/ready")
    export KF_BOOTSTRAP_SERVERS
}

stop() {
    kill "$broker"
    wait "$broker" || { echo 'demo: the broker did not stop cleanly' >&2; exit 1; }
    broker=
}

first=00000000000000000000
fixtures=$PWD
tmp=$(mktemp -d) || exit 1
broker=
trap '[ -z "$broker" ] || kill "$broker" 2>/dev/null; rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1

heading 'A broker'
why 'On the loopback interface, ready in some milliseconds. Any Kafka client can use it.'
settings=(-c offsets.topic.num.partitions=1 -c group.initial.rebalance.delay.ms=0)
serve --topic orders:2 "${settings[@]}"
demo "$KF_BOOTSTRAP_SERVERS" orders || exit 1

heading 'Its data are the files of an Apache Kafka broker'
why 'Stop it, and Apache Kafka starts on this directory; kf serve starts on one of Kafka.'
printf '\n$ ls data data/orders-0\n'
ls data data/orders-0
try 0 dump data/orders-0/$first.log
try 0 dump-log --print-data-log --files data/orders-0/$first.log
stop
why '' 'Stopped. What a clean stop leaves lets the next start trust the files without reading them.'
try 0 dump data/replication-offset-checkpoint data/.kafka_cleanshutdown data/orders-0/00000000000000000003.snapshot

cd "$fixtures" || exit 1

heading 'Records of a segment'
why 'Three records of a transaction, the marker that aborts it, and one of the next.' \
    'Without a broker: this is what is left when there is none to ask.'
try 0 dump --offset 59:64 transactions/payments-0/00000000000000000042.log

heading 'Any codec, null and empty told apart, headers, bytes that are no text'
why 'This segment is compressed with zstd. A tombstone has no value, which is not an empty one.'
try 0 dump --offset 1:8 codecs/orders-zstd-0/$first.log

heading 'Batches, and output for programs'
why 'The broker stores batches; their checksums, producers and sizes tell what went wrong.' \
    'Every command that prints rows prints JSON, JSON lines and CSV as well.'
try 0 dump --no-records --offset 59:64 transactions/payments-0/00000000000000000042.log
try 0 dump -o jsonl --last 1 groups/orders-0/$first.log

heading 'Indexes'
why 'From an offset or a time to a byte of the segment. A wrong index makes consumers skip data.'
try 0 dump groups/__consumer_offsets-1/$first.index groups/orders-0/$first.timeindex

heading 'Aborted transactions and producers'
why 'What read_committed consumers leave out, and the producers that the broker remembers:' \
    'the one with a first offset in its last column has a transaction open.'
try 0 dump transactions/ledger-0/$first.txnindex transactions/ledger-0/00000000000000000067.snapshot

heading 'Checkpoints and identity'
why 'High watermarks, the epochs of leaders, whose disk it is: a broker starts from these.'
try 0 dump transactions/replication-offset-checkpoint transactions/payments-0/leader-epoch-checkpoint transactions/meta.properties

heading 'Consumer groups'
why 'Commits and members, decoded because the directory is that of __consumer_offsets.' \
    'So it can be told what a group had committed at any time, and what deleted it.'
try 0 dump --offset 13:17 groups/__consumer_offsets-1/$first.log

heading 'The metadata log, and its snapshot'
why 'Everything that the cluster knows of itself: here a topic comes into being.'
try 0 dump --offset 21:23 groups/__cluster_metadata-0/$first.log
try 0 dump groups/__cluster_metadata-0/$first-0000000000.checkpoint

heading 'Damage'
why 'One bit is wrong, and a segment ends inside a batch: file, byte, offset and both checksums' \
    'are named, what is sound is printed, and scripts see it by exit code 3.'
try 3 dump --no-records --offset 56:68 damaged/data-0/00000000000000000040.log
try 3 dump --last 2 damaged/data-0/00000000000000000080.log

heading 'Drop-in for kafka-dump-log.sh'
why 'The same options, the same text to the byte, without a JVM.'
try 0 dump-log --print-data-log --files transactions/requests-0/$first.log

heading 'A group, and how far it is behind'
why 'The broker goes on where it stopped. What follows works with any Kafka cluster: -b says where.'
serve "${settings[@]}"
try 0 configs alter topic orders --set retention.ms=-1
try 0 topics describe orders
try 0 groups describe fulfilment
try 0 groups reset fulfilment --topic orders --to-earliest
try 3 groups lag fulfilment --against newest --sample 0 --fail-if 'behind > 30s' -o csv
try 0 groups lag fulfilment --against newest --sample 0
stop

printf '\nMore: kf dump --help, kf groups --help, kf help connecting, kf help migrate\n'
