// Package interop holds the tests against Apache Kafka itself, which "make
// interop" runs: a node that a program fills with all kinds of data, and
// kafka-dump-log on what it wrote, on damaged copies of that, and on what kf
// writes; "kf serve" and Kafka that serve a directory in turns, Kafka's clients and
// others on kf, both cleaners on the same records, the groups of Kafka's consumers,
// of Streams and of Connect on kf, the same random requests of groups to both side
// by side. They need a JDK and Maven, and fetch Kafka once into the user's cache. "make interop-fixtures" does the same
// with directories of other brokers, and "make interop-clients" lets clients of other
// makers use kf: kcat, and group members of the libraries for Python, JavaScript and
// Go, whose programs are in testdata/clients.
//
// KF_SEED repeats the random choices of a run, KF_DAMAGES says how many damages
// are tried, KF_DIFFER to how many groups random requests are sent. KF_SERVER=Kafka
// lets Kafka serve the groups instead of kf, to show that what the tests ask of kf is
// what Kafka does. The files of a failure are kept.
package interop
