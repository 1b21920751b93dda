package contexts

import "io/fs"

// CheckMode always succeeds: the permission bits say nothing on Windows.
func CheckMode(string, fs.FileInfo, fs.FileMode) error { return nil }

// CheckOwner always succeeds: see CheckMode.
func CheckOwner(string, fs.FileInfo) error { return nil }
