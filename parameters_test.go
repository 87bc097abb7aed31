package braid

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "braid.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadConfig(t *testing.T) {
	t.Setenv("BRAID_WINDOW", "32")
	t.Setenv("BRAID_LINGER", "1500ms")
	t.Setenv("BRAID_DEBUG_MEMORY", "false") // that the tests may be run with
	got, err := LoadConfig(writeFile(t, `{"small_message": "8KiB", "window": 16, "keepalive": "3s", "single_path": true, "memory": "2GiB"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{SmallMessage: 8192, Window: 32, Keepalive: 3 * time.Second, Linger: 1500 * time.Millisecond, SinglePath: true, Memory: 2 << 30}
	if got != want {
		t.Errorf("LoadConfig: %+v, want %+v", got, want)
	}
}

// What is wrong is told, all of it, and nothing of it is used.
func TestLoadConfigErrors(t *testing.T) {
	for name, test := range map[string]struct{ file, env, want string }{
		"no file":        {"", "", "no such file"},
		"no JSON":        {"window = 3", "", "invalid character"},
		"unknown":        {`{"windows": 3}`, "", `no parameter "windows"`},
		"not a number":   {`{"window": "many"}`, "", "want a number"},
		"no unit":        {`{"keepalive": 10}`, "", "keepalive"},
		"too large":      {`{"memory": "9999999999GiB"}`, "", "too large"},
		"out of range":   {`{"window": 2}`, "", "want 4 to 1024"},
		"environment":    {`{}`, "x", "window"},
		"file and envir": {`{"windows": 3}`, "x", `window = "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			if test.env != "" {
				t.Setenv("BRAID_WINDOW", test.env)
			}
			path := filepath.Join(t.TempDir(), "none.json")
			if test.file != "" {
				path = writeFile(t, test.file)
			}
			c, err := LoadConfig(path)
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), test.want) || c != (Config{}) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
}

// Every value of Config has a name, but for the device.
func TestParametersAreComplete(t *testing.T) {
	if n := reflect.TypeFor[Config]().NumField() - 2; n != len(parameters) { // Device, Background
		t.Errorf("Config has %d values, %d have names", n, len(parameters))
	}
	c, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	var again Config
	for p, text := range c.Parameters() {
		if err := again.Set(p.Name, text); err != nil {
			t.Error(err)
		}
	}
	if again != c {
		t.Errorf("by their names: %+v, want %+v", again, c)
	}
}

func TestSet(t *testing.T) {
	c := open(t, Config{})
	for p, value := range c.Config().Parameters() {
		if err := c.Set(p.Name, value); err != nil {
			t.Errorf("%s stays %s: %v", p.Name, value, err)
		}
	}
	if err := c.Set("fragments", "7"); err != nil || c.Config().Fragments != 7 {
		t.Errorf("Set: %v", err)
	}
	before := c.Config()
	for _, test := range []struct{ name, value, want string }{
		{"window", "9", "only Policy"},
		{"fragments", "none", "want a number"},
		{"fragments", "0", "0 is no value"},
		{"colour", "blue", "no parameter"},
		{"memory", "-3", "want 1048576 to"},
		{"keepalive", "soon", "invalid duration"},
		{"trace", "loud", "loud"},
		{"no_stats", "perhaps", "invalid syntax"},
	} {
		if err := c.Set(test.name, test.value); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s = %s: %v; want %q", test.name, test.value, err, test.want)
		}
		if now := c.Config(); now != before {
			t.Errorf("%s = %s is refused, and changes the configuration to %+v", test.name, test.value, now)
		}
	}
}

// Times have bounds on both sides. What is negative is refused, but where that has a meaning.
func TestTimesAreBounded(t *testing.T) {
	for _, test := range []struct{ name, least, most, below, above, negative, want string }{
		{"keepalive", "1ms", "24h", "1ns", "24h1ns", "-1ns", "want 1ms to 24h0m0s, or a negative time"},
		{"patience", "10ms", "19h32m48.744177664s", "9ms", "100h", "", "want 10ms to 19h32m48.744177664s"},
		{"linger", "1ns", "24h", "", "25h", "-1s", "want 1ns to 24h0m0s, or a negative time"},
		{"slow_threshold", "1ns", "24h", "", "2000000h", "-1s", "want 1ns to 24h0m0s, or a negative time"},
		{"polling_warn", "0s", "24h", "-1s", "25h", "", "want 0s to 24h0m0s"},
	} {
		try := func(value string) error {
			var c Config
			if err := c.Set(test.name, value); err != nil {
				return err
			}
			_, err := c.withDefaults()
			return err
		}
		for _, good := range []string{test.least, test.most, test.negative} {
			if err := try(good); good != "" && err != nil {
				t.Errorf("%s = %s: %v", test.name, good, err)
			}
		}
		for _, bad := range []string{test.below, test.above} {
			if err := try(bad); bad != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s = %s: %v; want %q", test.name, bad, err, test.want)
			}
		}
	}
}

// The longest times that are accepted are not refused later, by what is below.
func TestLongestTimes(t *testing.T) {
	a, b := pair(t, Config{Patience: maxPatience, Keepalive: verbs.MaxKeepalive, Linger: maxWait, SlowThreshold: maxWait, PollingWarn: maxWait})
	go b.Serve(t.Context(), echo)
	if _, err := a.Call(soon(t), []byte("hello")); err != nil {
		t.Error(err)
	}
	if err := a.Context().Set("keepalive", "-1ns"); err != nil {
		t.Error(err)
	}
	if got := a.qp.Query().Attr.Keepalive; got != 0 {
		t.Errorf("keepalive of %d ns, want none", got)
	}
}

// In Go a zero stands for the default; in a text it is a value, or it is refused.
func TestZeroInTexts(t *testing.T) {
	values := map[string]bool{"mock_port": true, "trace_sample_mask": true, "polling_warn": true} // which have one
	for _, p := range parameters {
		if p.number == nil && p.duration == nil {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			check := func(from string, err error) {
				if told := errors.Is(err, ErrConfig) && strings.Contains(err.Error(), p.Name+` = "0"`); told == values[p.Name] || values[p.Name] != (err == nil) {
					t.Errorf("0 from %s: %v", from, err)
				}
			}
			check("Set", new(Config).Set(p.Name, "0"))
			_, err := LoadConfig(writeFile(t, `{"`+p.Name+`": 0}`))
			check("a file", err)
			t.Setenv("BRAID_"+strings.ToUpper(p.Name), "0")
			_, err = LoadConfig("")
			check("the environment", err)
		})
	}
}

// Two wrong values are told at once, wherever they come from, and what follows from them only is not.
func TestAllThatIsWrongIsTold(t *testing.T) {
	wrong := Config{Window: -155, Patience: 100 * time.Hour, Fragments: -2}
	check := func(t *testing.T, err error, want ...string) {
		t.Helper()
		if !errors.Is(err, ErrConfig) {
			t.Fatalf("%v, want ErrConfig", err)
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%v; want %q", err, text)
			}
		}
		if n := strings.Count(err.Error(), ErrConfig.Error()); n != len(want) {
			t.Errorf("%v: %d complaints, want %d", err, n, len(want))
		}
	}
	t.Run("code", func(t *testing.T) {
		_, err := Open(wrong)
		check(t, err, "Window is -155", "Patience is 100h", "Fragments is -2")
	})
	t.Run("a running context", func(t *testing.T) {
		c := open(t, Config{})
		err := c.Update(func(cfg *Config) { cfg.Calls, cfg.Patience, cfg.PollingWarn = 7, 100*time.Hour, -1 })
		check(t, err, "only Policy", "Patience is 100h", "PollingWarn is -1ns")
	})
	t.Run("a file", func(t *testing.T) {
		_, err := LoadConfig(writeFile(t, `{"window": 2, "patience": "100h", "fragments": 0, "colour": "blue"}`))
		check(t, err, "Window is 2", "Patience is 100h", `fragments = "0"`, `"colour"`)
	})
	t.Run("the environment", func(t *testing.T) {
		t.Setenv("BRAID_WINDOW", "2")
		t.Setenv("BRAID_KEEPALIVE", "1ns")
		t.Setenv("BRAID_LINGER", "long")
		_, err := LoadConfig(writeFile(t, `{"calls": "x"}`))
		check(t, err, "Window is 2", "Keepalive is 1ns", `linger = "long"`, `calls = "x"`)
	})
}
