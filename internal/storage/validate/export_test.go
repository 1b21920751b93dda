package validate

// TakeTurn makes batches that inflate to a lot wait until it is given back.
func TakeTurn() (giveBack func()) {
	turn.Lock()
	return turn.Unlock
}

// AtWork is how many decoders inflate at once.
func AtWork() int { return cap(working) }

// Occupy takes the place of a decoder until release is called. It makes the places
// anew, so that a bubble of synctest sees who waits for one; restore puts the old
// ones back.
func Occupy() (release, restore func()) {
	old := working
	working = make(chan struct{}, 1)
	working <- struct{}{}
	return func() { <-working }, func() { working = old }
}
