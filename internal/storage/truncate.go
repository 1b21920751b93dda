package storage

// stub
func (l *Log) FindTime(timestamp int64, bound Bound) (Found, error) { panic("stub") }
func (l *Log) MaxTime() (Found, error)                              { panic("stub") }
func (l *Log) RaiseLogStart(offset int64) (int64, error)            { panic("stub") }
func (l *Log) TruncateTo(offset int64) error                        { panic("stub") }
func (l *Log) TruncateAll(offset int64) error                       { panic("stub") }
func (l *Log) Retain() (deleted int, err error)                     { panic("stub") }
