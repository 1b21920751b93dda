"""What the group members of all Python libraries have in common: the command line and
the events on standard output."""

import argparse
import json
import sys


def options():
    """Read the command line: BOOTSTRAP TOPIC GROUP [flags]."""
    p = argparse.ArgumentParser()
    p.add_argument("bootstrap")
    p.add_argument("topic")
    p.add_argument("group")
    p.add_argument("--static", metavar="ID", help="group instance id")
    p.add_argument("--protocol", default="classic", help="classic or consumer")
    p.add_argument("--assignor", default="range", metavar="NAME")
    p.add_argument("--session", type=int, default=6000, metavar="MS", help="session timeout")
    p.add_argument("--heartbeat", type=int, default=500, metavar="MS", help="heartbeat interval")
    return p.parse_args()


def _say(**event):
    # One write for a line: callbacks may come from other threads.
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def assigned(partitions):
    """Say which partitions came to the member."""
    _say(event="assigned", partitions=[p.partition for p in partitions])


def revoked(partitions):
    """Say which partitions it gave up or lost."""
    _say(event="revoked", partitions=[p.partition for p in partitions])


def record(partition, offset):
    """Say that a record was read."""
    _say(event="record", partition=partition, offset=offset)


def committed(partition, offset):
    """Say that the broker has taken a commit; offset is the next one to read."""
    _say(event="committed", partition=partition, offset=offset)


def refused(error):
    """Say that a commit or another request failed and that the member goes on."""
    _say(event="refused", error=repr(error))
