package braid

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
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
	for name, value := range map[string]string{"window": "9", "fragments": "none", "colour": "blue", "memory": "-3"} {
		if err := c.Set(name, value); !errors.Is(err, ErrConfig) {
			t.Errorf("%s = %s: %v", name, value, err)
		}
	}
}
