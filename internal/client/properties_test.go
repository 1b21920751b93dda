package client

import "testing"

func TestSoftwareVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "v0.0.0-20261130+dirty": "v0.0.0-20261130-dirty", "devel": "devel", "": "unknown", "(devel)": "devel", "+": "unknown", "a\u00e9": "a",
	} {
		if got := softwareVersion(version); got != want {
			t.Errorf("%q: got %q, want %q", version, got, want)
		}
	}
}
