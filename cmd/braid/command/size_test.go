package command

import "testing"

func TestSizes(t *testing.T) {
	for _, test := range []struct {
		text string
		bare int64
		want int64
		back string
	}{
		{"65536", 1, 65536, "64KiB"},
		{"64K", 1, 65536, "64KiB"},
		{"64k", 1, 65536, "64KiB"},
		{"64KiB", 1, 65536, "64KiB"},
		{"1M", 1, 1 << 20, "1MiB"},
		{"3G", 1, 3 << 30, "3GiB"},
		{"1536MiB", 1, 1536 << 20, "1536MiB"},
		{"1000", 1, 1000, "1000"},
		{"512", 1 << 20, 512 << 20, "512MiB"},
		{"2G", 1 << 20, 2 << 30, "2GiB"},
		{"0", 1, 0, "0"},
		{"-1", 1, -1, "-1"},
	} {
		var got int64
		f := sizeFlag[int64]{&got, test.bare}
		if err := f.Set(test.text); err != nil || got != test.want || f.String() != test.back {
			t.Errorf("%s: %d (%s), error %v; want %d (%s)", test.text, got, f.String(), err, test.want, test.back)
		}
	}
	for _, text := range []string{"", "K", "64KB", "64B", "64iB", "1.5M", "64 K", "1e3", "9000000000G", "-9000000000G"} {
		got := int64(7)
		f := sizeFlag[int64]{&got, 1}
		if err := f.Set(text); err == nil || got != 7 {
			t.Errorf("%q: %d, error %v, want an error and no change", text, got, err)
		}
	}
}
