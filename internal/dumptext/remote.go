package dumptext

import (
	"cmp"
	"slices"
	"strconv"

	"kf/internal/format/remoterec"
	"kf/internal/javafmt"
	"kf/internal/wire"
)

// remoteFault returns why Kafka cannot make its object of a decoded record, ""
// if it can.
func remoteFault(message any) string {
	noEpochs := func(epochs []remoterec.SegmentLeaderEpoch) string {
		if len(epochs) == 0 {
			return "segmentLeaderEpochs can not be null or empty"
		}
		return ""
	}
	noState := func(state int8) string {
		if !remoterec.SegmentState(state).Known() {
			return "state can not be null"
		}
		return ""
	}
	switch m := message.(type) {
	case *remoterec.RemoteLogSegmentMetadataRecord:
		switch {
		case m.StartOffset < 0:
			return "Unexpected start offset = " + strconv.FormatInt(m.StartOffset, 10) + ". StartOffset for a remote segment cannot be negative"
		case m.EndOffset < m.StartOffset:
			return "Unexpected end offset = " + strconv.FormatInt(m.EndOffset, 10) +
				". EndOffset for a remote segment cannot be less than startOffset = " + strconv.FormatInt(m.StartOffset, 10)
		}
		return cmp.Or(noEpochs(m.SegmentLeaderEpochs), noState(m.RemoteLogSegmentState))
	case *remoterec.RemoteLogSegmentMetadataUpdateRecord:
		return noState(m.RemoteLogSegmentState)
	case *remoterec.RemotePartitionDeleteMetadataRecord:
		if !remoterec.DeleteState(m.RemotePartitionDeleteState).Known() {
			return "null"
		}
	case *remoterec.RemoteLogSegmentMetadataSnapshotRecord:
		return cmp.Or(noState(m.RemoteLogSegmentState), noEpochs(m.SegmentLeaderEpochs))
	}
	return ""
}

// A text is a toString under construction.
type text struct{ b []byte }

func (t *text) add(s string) *text      { t.b = append(t.b, s...); return t }
func (t *text) num(n int64) *text       { t.b = strconv.AppendInt(t.b, n, 10); return t }
func (t *text) uuid(id wire.UUID) *text { t.b = id.AppendTo(t.b); return t }
func (t *text) bool(v bool) *text       { t.b = strconv.AppendBool(t.b, v); return t }
func (t *text) segmentState(n int8) *text {
	return t.add(", state=").add(remoterec.SegmentState(n).String())
}
func (t *text) partition(p remoterec.TopicIDPartition) *text {
	return t.uuid(p.ID).add(":").add(javafmt.Text(p.Name)).add("-").num(int64(p.Partition))
}

func (t *text) segment(id remoterec.RemoteLogSegmentID) *text {
	return t.add("remoteLogSegmentId=RemoteLogSegmentId{topicIdPartition=").partition(id.TopicIDPartition).
		add(", id=").uuid(id.ID).add("}")
}

// epochs appends a TreeMap: sorted, the last of equal keys.
func (t *text) epochs(list []remoterec.SegmentLeaderEpoch) *text {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b remoterec.SegmentLeaderEpoch) int { return cmp.Compare(a.LeaderEpoch, b.LeaderEpoch) })
	separator := ", segmentLeaderEpochs={"
	for i, e := range sorted {
		if i+1 < len(sorted) && sorted[i+1].LeaderEpoch == e.LeaderEpoch {
			continue
		}
		t.add(separator).num(int64(e.LeaderEpoch)).add("=").num(e.Offset)
		separator = ", "
	}
	return t.add("}")
}

func (t *text) custom(p []byte) *text {
	if p == nil {
		return t.add(", customMetadata=Optional.empty")
	}
	return t.add(", customMetadata=Optional[CustomMetadata{").num(int64(len(p))).add(" bytes}]")
}

func appendRemoteText(dst []byte, message any) []byte {
	t := &text{dst}
	switch m := message.(type) {
	case *remoterec.RemoteLogSegmentMetadataRecord:
		t.add("RemoteLogSegmentMetadata{").segment(m.RemoteLogSegmentID).
			add(", startOffset=").num(m.StartOffset).add(", endOffset=").num(m.EndOffset).
			add(", brokerId=").num(int64(m.BrokerID)).add(", maxTimestampMs=").num(m.MaxTimestampMs).
			add(", eventTimestampMs=").num(m.EventTimestampMs).epochs(m.SegmentLeaderEpochs).
			add(", segmentSizeInBytes=").num(int64(m.SegmentSizeInBytes)).custom(m.CustomMetadata).
			segmentState(m.RemoteLogSegmentState).add(", txnIdxEmpty=").bool(m.TxnIndexEmpty).add("}")
	case *remoterec.RemoteLogSegmentMetadataUpdateRecord:
		t.add("RemoteLogSegmentMetadataUpdate{").segment(m.RemoteLogSegmentID).custom(m.CustomMetadata).
			segmentState(m.RemoteLogSegmentState).add(", eventTimestampMs=").num(m.EventTimestampMs).
			add(", brokerId=").num(int64(m.BrokerID)).add("}")
	case *remoterec.RemotePartitionDeleteMetadataRecord:
		t.add("RemotePartitionDeleteMetadata{topicPartition=").partition(m.TopicIDPartition).
			add(", state=").add(remoterec.DeleteState(m.RemotePartitionDeleteState).String()).
			add(", eventTimestampMs=").num(m.EventTimestampMs).add(", brokerId=").num(int64(m.BrokerID)).add("}")
	case *remoterec.RemoteLogSegmentMetadataSnapshotRecord:
		t.add("RemoteLogSegmentMetadataSnapshot{segmentId=").uuid(m.SegmentID).
			add(", startOffset=").num(m.StartOffset).add(", endOffset=").num(m.EndOffset).
			add(", maxTimestampMs=").num(m.MaxTimestampMs).epochs(m.SegmentLeaderEpochs).
			add(", segmentSizeInBytes=").num(int64(m.SegmentSizeInBytes)).custom(m.CustomMetadata).
			segmentState(m.RemoteLogSegmentState).add(", txnIdxEmpty=").bool(m.TxnIndexEmpty).add("}")
	}
	return t.b
}
