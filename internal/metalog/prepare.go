package metalog

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kf/internal/format/metaprops"
	"kf/internal/image"
	"kf/internal/logdir"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// ErrIdentity says that log directories are not those of one node.
var ErrIdentity = errors.New("log directories do not belong together")

// errForeign is the [ErrIdentity] of a directory that was never a log directory.
var errForeign error = foreign{}

type foreign struct{}

func (foreign) Error() string        { return "not a data directory of Kafka" }
func (foreign) Is(target error) bool { return target == ErrIdentity }

// An Identity is who a node is, from the meta.properties of its log directories.
type Identity struct {
	ClusterID    string
	NodeID       int32
	DirectoryIDs []wire.UUID // of the log directories, in their order
	New          bool        // every directory was, and so is the cluster
}

// Prepare reads the meta.properties of the log directories of a node, and writes
// them where a directory is new: one without partitions and foreign files. An
// empty clusterID takes that of the directories, or a random one if all are new.
// A directory without directory.id gets one. It fails with ErrIdentity where
// Kafka refuses the directories.
//
// Source: Kafka 4.4.0, MetaPropertiesEnsemble.java.
func Prepare(fsys disk.FS, dirs []string, clusterID string, nodeID int32) (Identity, error) {
	p := preparation{fsys: fsys, id: Identity{ClusterID: clusterID, NodeID: nodeID, DirectoryIDs: make([]wire.UUID, len(dirs))}, owner: map[wire.UUID]string{}}
	var fresh []int
	for i, dir := range dirs {
		isNew, err := p.read(i, dir)
		if err != nil {
			return Identity{}, err
		}
		if isNew {
			fresh = append(fresh, i)
		}
	}
	if p.id.ClusterID == "" {
		p.id.ClusterID = RandomID().String()
	}
	for _, i := range fresh {
		if err := p.write(i, dirs[i], RandomID()); err != nil {
			return Identity{}, err
		}
	}
	p.id.New = len(fresh) == len(dirs)
	return p.id, nil
}

type preparation struct {
	fsys  disk.FS
	id    Identity
	from  string // directory whose cluster.id was taken
	owner map[wire.UUID]string
}

// read reads the meta.properties of a directory; isNew reports that it has none
// and nothing else.
func (p *preparation) read(i int, dir string) (isNew bool, err error) {
	path := filepath.Join(dir, logdir.NameMetaProperties)
	text, err := disk.ReadFile(p.fsys, path, smallFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, p.checkEmpty(dir)
	case err != nil:
		return false, err
	}
	m, err := metaprops.Decode(text)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	if m.ClusterID == nil || m.NodeID == nil {
		return false, fmt.Errorf("%s: %w: it has no %s or no %s", path, ErrIdentity, metaprops.KeyClusterID, metaprops.KeyNodeID)
	}
	switch {
	case p.id.ClusterID == "":
		p.id.ClusterID, p.from = *m.ClusterID, dir
	case *m.ClusterID != p.id.ClusterID && p.from != "":
		return false, fmt.Errorf("%s: %w: cluster.id is %q, that of %s is %q", path, ErrIdentity, *m.ClusterID, p.from, p.id.ClusterID)
	case *m.ClusterID != p.id.ClusterID:
		return false, fmt.Errorf("%s: %w: cluster.id is %q, wanted is %q", path, ErrIdentity, *m.ClusterID, p.id.ClusterID)
	}
	if *m.NodeID != p.id.NodeID {
		return false, fmt.Errorf("%s: %w: the directory is that of node %d, this is node %d", path, ErrIdentity, *m.NodeID, p.id.NodeID)
	}
	if m.DirectoryID == nil {
		return false, p.write(i, dir, RandomID())
	}
	return false, p.claim(i, dir, *m.DirectoryID)
}

// checkEmpty refuses a directory that has files although it is no log directory.
func (p *preparation) checkEmpty(dir string) error {
	entries, err := p.fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch logdir.ParseFileName(e.Name()).Kind {
		case logdir.KindLock, logdir.KindMetaProperties, logdir.KindOffsetCheckpoint, logdir.KindCleanShutdown:
			// What a start leaves that was killed before it came this far.
		default:
			return fmt.Errorf("%s: %w: it has no %s but holds %q: name an empty directory, or restore that file", dir, errForeign, logdir.NameMetaProperties, e.Name())
		}
	}
	return nil
}

// claim notes the directory id of a directory.
func (p *preparation) claim(i int, dir string, id wire.UUID) error {
	path := filepath.Join(dir, logdir.NameMetaProperties)
	if image.ReservedDirectory(id) {
		return fmt.Errorf("%s: %w: directory.id %v is reserved", path, ErrIdentity, id)
	}
	if other, ok := p.owner[id]; ok {
		return fmt.Errorf("%s: %w: directory.id %v is that of %s too; a copy of a log directory is none of its own", path, ErrIdentity, id, other)
	}
	p.owner[id] = dir
	p.id.DirectoryIDs[i] = id
	return nil
}

func (p *preparation) write(i int, dir string, id wire.UUID) error {
	m := metaprops.Meta{Version: 1, ClusterID: &p.id.ClusterID, NodeID: &p.id.NodeID, DirectoryID: &id}
	if err := disk.Replace(p.fsys, filepath.Join(dir, logdir.NameMetaProperties), metaprops.Append(nil, m, time.Now())); err != nil {
		return err
	}
	return p.claim(i, dir, id)
}

// RandomID returns a random id as Kafka makes it: a UUID of version 4 whose text
// does not begin with a dash, which programs take for an option.
func RandomID() wire.UUID {
	for {
		var id wire.UUID
		_, _ = rand.Read(id[:]) // it never fails
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if id.String()[0] != '-' {
			return id
		}
	}
}
