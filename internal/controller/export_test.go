package controller

import (
	"math/rand/v2"

	"kf/internal/image"
)

// Place returns the replicas of new partitions.
func Place(im *image.Image, random *rand.Rand, partitions, factor int) [][]int32 {
	p := newPlacer(newView(im, Configs{}, 0), random)
	var all [][]int32
	for range partitions {
		all = append(all, p.place(factor))
	}
	return all
}
