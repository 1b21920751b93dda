package broker

import (
	"regexp"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const apiVersionsKey = int16(kmsg.ApiVersions)

// unsupportedApiVersions answers a version that is not served: in version 0,
// with the range of this one API.
func unsupportedApiVersions(a *api) kmsg.Response {
	r := kmsg.NewPtrApiVersionsResponse()
	r.ErrorCode = kerr.UnsupportedVersion.Code
	r.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: a.key, MinVersion: a.min, MaxVersion: a.max}}
	return r
}

// softwareName is what the name and version of a client's software look like
// (KIP-511).
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)
