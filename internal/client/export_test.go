package client

import "time"

// SetPatience says for how long a broker that refuses connections is tried again.
func (c *Client) SetPatience(d time.Duration) { c.reach.patient = d }
