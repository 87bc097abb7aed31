package workload

import (
	"fmt"
	"strconv"
	"strings"
)

// published are the flow-size distributions that simulations of datacenters
// commonly use, by name.
var published = []struct{ name, points string }{
	{"web search", "0:0 10K:15 20K:20 30K:30 50K:40 80K:53 200K:60 1M:70 2M:80 5M:90 10M:97 30M:100"},
	{"hadoop", "0:0 100:1 200:2 300:5 350:15 400:20 500:30 600:40 700:50 1000:60 2000:67 7000:70 30000:72 " +
		"50000:82 80000:87 120000:90 300000:95 1M:97.5 2M:99 10M:100"},
	{"storage", "0:0 4000:22.93 8000:69.21 16000:80.61 32000:90.47 64000:93.53 128000:96.77 256000:97.53 2M:100"},
}

// customName is that of a distribution which was given by its points.
const customName = "custom"

// DistributionNames lists the published distributions.
func DistributionNames() []string {
	names := make([]string, len(published))
	for i, d := range published {
		names[i] = d.name
	}
	return names
}

// WebSearch is the flow sizes of a web search cluster, the workload of MP-RDMA
// figure 13: most flows are short, most bytes are in flows above 1 MB.
func WebSearch() *Distribution { return mustPublished("web search") }

// Hadoop is the flow sizes of a Hadoop cluster: most flows are below 1 KB.
func Hadoop() *Distribution { return mustPublished("hadoop") }

// Storage is the flow sizes of a distributed block store.
func Storage() *Distribution { return mustPublished("storage") }

func mustPublished(name string) *Distribution {
	d, err := ParseDistribution(name)
	if err != nil {
		panic("workload: the table of published distributions is wrong: " + err.Error())
	}
	return d
}

// ParseDistribution reads a distribution: the name of a published one, or its
// points as "bytes:percent bytes:percent ...". Sizes may end in K, M or G
// (thousands) or Ki, Mi or Gi (powers of 1024).
func ParseDistribution(text string) (*Distribution, error) {
	text = strings.TrimSpace(text)
	for _, d := range published {
		if d.name == text {
			return parsePoints(d.name, d.points)
		}
	}
	if text == "" || !strings.Contains(text, ":") {
		return nil, &DistributionError{
			Got:  strconv.Quote(text),
			Want: "bytes:percent points, or one of " + strings.Join(DistributionNames(), ", "),
		}
	}
	return parsePoints(customName, text)
}

func parsePoints(name, text string) (*Distribution, error) {
	words := strings.Fields(text)
	points := make([]Point, 0, min(len(words), MaxPoints))
	for i, word := range words {
		if i == MaxPoints {
			return nil, &DistributionError{Got: fmt.Sprint(len(words), " points"), Want: fmt.Sprint("at most ", MaxPoints)}
		}
		bytes, percent, _ := strings.Cut(word, ":")
		size, sizeErr := parseBytes(bytes)
		share, shareErr := strconv.ParseFloat(percent, 64)
		if sizeErr != nil || shareErr != nil {
			return nil, &DistributionError{Point: i + 1, Got: strconv.Quote(word), Want: "bytes:percent, such as 10K:15"}
		}
		points = append(points, Point{Bytes: size, Percent: share})
	}
	return NewDistribution(name, points)
}

// byteUnits are the suffixes of sizes; none is the end of another.
var byteUnits = []struct {
	suffix string
	bytes  int64
}{
	{"Ki", 1 << 10},
	{"Mi", 1 << 20},
	{"Gi", 1 << 30},
	{"K", 1e3},
	{"M", 1e6},
	{"G", 1e9},
}

// parseBytes reads a whole, non-negative number with an optional suffix.
func parseBytes(text string) (int64, error) {
	unit := int64(1)
	for _, u := range byteUnits {
		if number, found := strings.CutSuffix(text, u.suffix); found {
			text, unit = number, u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, err
	}
	if n > MaxBytes/uint64(unit) {
		return 0, strconv.ErrRange
	}
	return int64(n) * unit, nil
}
