package controller

import "kf/internal/wire"

// A Quorum is what does not change in the metadata quorum while its only node
// leads it.
type Quorum struct {
	Epoch     int32     // the leader epoch
	Directory wire.UUID // of the voter, zero with kraft.version 0
}

// Quorum returns the metadata quorum.
func (c *Controller) Quorum() Quorum { return Quorum{c.log.Epoch(), c.log.VoterDirectory()} }
