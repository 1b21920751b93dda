package schema

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"kf/internal/wire"
)

type kind uint8

const (
	kindBool kind = iota
	kindInt8
	kindInt16
	kindInt32
	kindInt64
	kindUint16
	kindUint32
	kindFloat64
	kindUUID
	kindString
	kindNullableString // *string
	kindBytes
	kindStruct
	kindNullableStruct // pointer
	kindInt16s
	kindInt32s
	kindInt64s
	kindStrings
	kindUUIDs
	kindStructs
)

var kinds = map[reflect.Type]kind{
	reflect.TypeFor[bool]():        kindBool,
	reflect.TypeFor[int8]():        kindInt8,
	reflect.TypeFor[int16]():       kindInt16,
	reflect.TypeFor[int32]():       kindInt32,
	reflect.TypeFor[int64]():       kindInt64,
	reflect.TypeFor[uint16]():      kindUint16,
	reflect.TypeFor[uint32]():      kindUint32,
	reflect.TypeFor[float64]():     kindFloat64,
	reflect.TypeFor[wire.UUID]():   kindUUID,
	reflect.TypeFor[string]():      kindString,
	reflect.TypeFor[*string]():     kindNullableString,
	reflect.TypeFor[[]byte]():      kindBytes,
	reflect.TypeFor[[]int16]():     kindInt16s,
	reflect.TypeFor[[]int32]():     kindInt32s,
	reflect.TypeFor[[]int64]():     kindInt64s,
	reflect.TypeFor[[]string]():    kindStrings,
	reflect.TypeFor[[]wire.UUID](): kindUUIDs,
}

// isArray reports whether values are slices other than bytes.
func (k kind) isArray() bool { return k >= kindInt16s }

const noTag = -1

// A field is what the tag of a struct field says, worked out once.
type field struct {
	name      string
	key       string // the name as JSON writes it before a value: `"name":`
	index     int    // in the Go struct
	kind      kind
	min, max  int16 // versions that have it
	nullable  bool
	ignorable bool
	tag       int32 // noTag if it is not a tagged field
	defNull   bool  // the default is null
	defInt    int64 // default of numbers and of bool
	elem      *plan // of structs
	elemType  reflect.Type
}

func (f *field) in(version int16) bool { return f.min <= version && version <= f.max }

// A plan is what is known about a struct type before the first value is seen.
type plan struct {
	name     string // of the Go type
	fields   []field
	tagged   []*field // by rising tag
	unknown  int      // index of the field of type Tags, -1 if there is none
	flex     int16    // first flexible version, noFlex if there is none
	min, max int16    // versions of the message
}

const noFlex = math.MaxInt16

type planKey struct {
	t    reflect.Type
	flex int16
}

var plans sync.Map // reflect.Type of a message, or planKey of a struct in one → *plan

// planOf returns the plan of a message, a struct with a blank field that holds
// its versions.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	if t.Kind() != reflect.Struct || t.NumField() == 0 || t.Field(0).Name != "_" {
		panic(fmt.Sprintf("schema: %v is not a message: its first field must be _ struct{} with a kf tag", t))
	}
	lowest, highest, flex := int16(0), int16(0), int16(noFlex)
	for option := range strings.SplitSeq(t.Field(0).Tag.Get("kf"), ",") {
		switch name, value, _ := strings.Cut(option, "="); {
		case name == "flex":
			flex = since(number(t, value))
		case strings.HasPrefix(name, "v"):
			lowest, highest = versions(t, name)
		default:
			panic(fmt.Sprintf("schema: %v: unknown option %q", t, option))
		}
	}
	p := new(*structPlan(t, flex)) // a struct may be a message and a part of one
	p.min, p.max = lowest, highest
	kept, _ := plans.LoadOrStore(t, p)
	return kept.(*plan)
}

func structPlan(t reflect.Type, flex int16) *plan {
	key := planKey{t, flex}
	if p, ok := plans.Load(key); ok {
		return p.(*plan)
	}
	p := &plan{name: t.Name(), unknown: -1, flex: flex}
	for i := range t.NumField() {
		sf := t.Field(i)
		switch {
		case sf.Name == "_":
		case sf.Type == reflect.TypeFor[Tags]():
			p.unknown = i
		default:
			p.fields = append(p.fields, parseField(t, sf, flex))
		}
	}
	if flex != noFlex && p.unknown < 0 {
		panic(fmt.Sprintf("schema: %v has flexible versions but no field of type Tags", t))
	}
	for i := range p.fields {
		if p.fields[i].tag != noTag {
			p.tagged = append(p.tagged, &p.fields[i])
		}
	}
	for i := 1; i < len(p.tagged); i++ {
		for j := i; j > 0 && p.tagged[j].tag < p.tagged[j-1].tag; j-- {
			p.tagged[j], p.tagged[j-1] = p.tagged[j-1], p.tagged[j]
		}
	}
	kept, _ := plans.LoadOrStore(key, p)
	return kept.(*plan)
}

func parseField(t reflect.Type, sf reflect.StructField, flex int16) field {
	bad := func(format string, args ...any) {
		panic(fmt.Sprintf("schema: %v.%s: ", t, sf.Name) + fmt.Sprintf(format, args...))
	}
	f := field{index: sf.Index[0], min: math.MinInt16, max: math.MaxInt16, tag: noTag}
	options := strings.Split(sf.Tag.Get("kf"), ",")
	f.name = options[0]
	if f.name == "" {
		bad("no name in the kf tag")
	}
	f.key = `"` + f.name + `":`
	def := ""
	for _, option := range options[1:] {
		switch name, value, _ := strings.Cut(option, "="); {
		case name == "nullable":
			f.nullable = true
		case name == "ignorable":
			f.ignorable = true
		case name == "tag":
			f.tag = int32(number(t, value))
		case name == "default":
			def = value
		case strings.HasPrefix(name, "v"):
			f.min, f.max = versions(t, name)
			f.min = since(f.min)
		default:
			bad("unknown option %q", option)
		}
	}
	k, ok := kinds[sf.Type]
	switch {
	case ok:
		f.kind = k
	case sf.Type.Kind() == reflect.Struct:
		f.kind, f.elemType = kindStruct, sf.Type
	case sf.Type.Kind() == reflect.Pointer && sf.Type.Elem().Kind() == reflect.Struct:
		f.kind, f.elemType = kindNullableStruct, sf.Type.Elem()
	case sf.Type.Kind() == reflect.Slice && sf.Type.Elem().Kind() == reflect.Struct:
		f.kind, f.elemType = kindStructs, sf.Type.Elem()
	default:
		bad("no encoding for %v", sf.Type)
	}
	if f.elemType != nil {
		f.elem = structPlan(f.elemType, flex)
	}
	if canBeNull := f.kind == kindNullableString || f.kind == kindNullableStruct; canBeNull != f.nullable && f.kind != kindBytes && !f.kind.isArray() {
		bad("nullable does not fit %v", sf.Type)
	}
	switch {
	case def == "":
	case def == "null" && f.nullable:
		f.defNull = true
	case def == "true" && f.kind == kindBool:
		f.defInt = 1
	case f.kind >= kindInt8 && f.kind <= kindUint32:
		n, err := strconv.ParseInt(def, 10, 64)
		if err != nil {
			bad("default: %v", err)
		}
		f.defInt = n
	default:
		bad("default %q does not fit %v", def, sf.Type)
	}
	return f
}

// since returns the version from which on what is there since the given one is
// read: what all versions have Kafka also reads in a negative one, which the frame
// of a record can claim.
func since(version int16) int16 {
	if version <= 0 {
		return math.MinInt16
	}
	return version
}

// versions reads "v3", "v1-2" or "v3+".
func versions(t reflect.Type, s string) (lowest, highest int16) {
	s = s[1:]
	if low, ok := strings.CutSuffix(s, "+"); ok {
		return number(t, low), math.MaxInt16
	}
	low, high, ok := strings.Cut(s, "-")
	if !ok {
		high = low
	}
	return number(t, low), number(t, high)
}

func number(t reflect.Type, s string) int16 {
	n, err := strconv.ParseInt(s, 10, 16)
	if err != nil {
		panic(fmt.Sprintf("schema: %v: %v", t, err))
	}
	return int16(n)
}
