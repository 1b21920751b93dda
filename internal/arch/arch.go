// Package arch holds the test of which package may import which.
package arch
