package braid

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parameter is a value of Config by its name, as files, the environment and Context.Set know it.
type Parameter struct {
	Name        string
	Description string
	Online      bool // it can change while a context is open

	zero     bool // 0 is a value of it; else it stands for the default, in Go only
	number   func(*Config) *int
	duration func(*Config) *time.Duration
	flag     func(*Config) *bool
	word     func(*Config) textValue
	text     func(*Config) *string
}

// textValue is a value that has names of its own.
type textValue interface {
	encoding.TextMarshaler
	encoding.TextUnmarshaler
}

// parameters are all that a text can say of a configuration. X-RDMA's own (table III) are in
// docs/middleware.md.
var parameters = []Parameter{
	{Name: "single_path", Description: "standard queue pairs (RC) instead of multi-path ones", flag: func(c *Config) *bool { return &c.SinglePath }},
	{Name: "policy", Description: "path policy of multi-path connections", Online: true, text: func(c *Config) *string { return &c.Policy }},
	{Name: "congestion_control", Description: "congestion control of multi-path connections", Online: true, text: func(c *Config) *string { return &c.Control }},
	{Name: "small_message", Description: "longest message in one operation, bytes", number: func(c *Config) *int { return &c.SmallMessage }},
	{Name: "max_message", Description: "longest message that is received, bytes", Online: true, number: func(c *Config) *int { return &c.MaxMessage }},
	{Name: "window", Description: "messages that a peer may have on their way", number: func(c *Config) *int { return &c.Window }},
	{Name: "calls", Description: "calls of a channel that wait for a response, or are with handlers", number: func(c *Config) *int { return &c.Calls }},
	{Name: "fragment", Description: "unit in which large messages are read, bytes", number: func(c *Config) *int { return &c.Fragment }},
	{Name: "fragments", Description: "fragments of a context on their way", Online: true, number: func(c *Config) *int { return &c.Fragments }},
	{Name: "fragments_beside", Description: "the same while small messages come as well", Online: true, number: func(c *Config) *int { return &c.FragmentsBeside }},
	{Name: "memory", Description: "bytes of large messages that wait for the application", Online: true, number: func(c *Config) *int { return &c.Memory }},
	{Name: "keepalive", Description: "silence after which a peer is asked whether it lives; negative: never", Online: true, duration: func(c *Config) *time.Duration { return &c.Keepalive }},
	{Name: "patience", Description: "silence after which a peer is given up to which something was sent", Online: true, duration: func(c *Config) *time.Duration { return &c.Patience }},
	{Name: "linger", Description: "how long Close waits for what was sent; negative: not at all", Online: true, duration: func(c *Config) *time.Duration { return &c.Linger }},
	{Name: "qp_cache", Description: "queue pairs of ended channels that wait for later ones; negative: none", Online: true, number: func(c *Config) *int { return &c.QPCache }},
	{Name: "mock", Description: "auto: channels move to TCP while UDP does not reach the peer; tcp, udp: they go by that; off: there is no TCP, as long as the context is open", Online: true, word: func(c *Config) textValue { return &c.Mock }},
	{Name: "mock_port", Description: "TCP port for that; 0: a free one", zero: true, number: func(c *Config) *int { return &c.MockPort }},
	{Name: "channels", Description: "channels that there may be", number: func(c *Config) *int { return &c.Channels }},
	{Name: "trace", Description: "which traces are made: off, bare-data, req-rsp", Online: true, word: func(c *Config) textValue { return &c.Trace }},
	{Name: "trace_sample_mask", Description: "a message is traced if its number has none of these bits", Online: true, zero: true, number: func(c *Config) *int { return &c.TraceMask }},
	{Name: "slow_threshold", Description: "time after which a phase of a traced message is slow; negative: never", Online: true, duration: func(c *Config) *time.Duration { return &c.SlowThreshold }},
	{Name: "polling_warn", Description: "time between two polls after which it is told; 0: never", Online: true, zero: true, duration: func(c *Config) *time.Duration { return &c.PollingWarn }},
	{Name: "log", Description: "what is told to the program's log: off, warn (failures, moves to TCP, what is slow), info (channels and changes too)", Online: true, word: func(c *Config) textValue { return &c.Log }},
	{Name: "no_stats", Description: "statistics are not published for other processes", flag: func(c *Config) *bool { return &c.NoStats }},
	{Name: "no_operator", Description: "there is no socket for operators", flag: func(c *Config) *bool { return &c.NoOperator }},
	{Name: "labels", Description: "what operators choose among programs by, as rack=3,role=db", text: func(c *Config) *string { return &c.Labels }},
	{Name: "debug_memory", Description: "find wrong uses of the memory of messages", flag: func(c *Config) *bool { return &c.DebugMemory }},
}

// Parameters lists what a configuration has, with the values of c as text.
func (c Config) Parameters() iter.Seq2[Parameter, string] {
	return func(yield func(Parameter, string) bool) {
		for _, p := range parameters {
			if !yield(p, p.value(&c)) {
				return
			}
		}
	}
}

// Set changes one value by its name. Numbers of bytes may have a unit, as 64KiB; times have one, as 10s. A 0 is
// refused where it would stand for the default.
func (c *Config) Set(name, value string) error {
	for i := range parameters {
		if p := &parameters[i]; p.Name == name {
			if err := p.set(c, strings.TrimSpace(value)); err != nil {
				return fmt.Errorf("%w: %s = %q: %w", ErrConfig, name, value, err)
			}
			return nil
		}
	}
	return fmt.Errorf("%w: no parameter %q", ErrConfig, name)
}

// setAll changes several values, and tells all that is wrong.
func (c *Config) setAll(values map[string]string) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		wrong = append(wrong, c.Set(name, values[name]))
	}
	return errors.Join(wrong...)
}

// Set changes one value of a running context by its name; see Update.
func (c *Context) Set(name, value string) (err error) {
	c.exclusive(func() { _, err = c.update(func(cfg *Config) error { return cfg.Set(name, value) }) })
	return err
}

// envPrefix precedes the name of a parameter in the environment, in capital letters.
const envPrefix = "BRAID_"

// LoadConfig reads a configuration: from a file of JSON, one object with the names of parameters,
// and then from the environment, where BRAID_WINDOW is the window. An empty path is no
// file. All that is wrong is told at once.
func LoadConfig(path string) (Config, error) {
	var c Config
	var wrong []error
	if path != "" {
		wrong = append(wrong, c.readFile(path))
	}
	for _, p := range parameters {
		if value, ok := os.LookupEnv(envPrefix + strings.ToUpper(p.Name)); ok {
			wrong = append(wrong, c.Set(p.Name, value))
		}
	}
	_, err := c.withDefaults()
	if err := errors.Join(append(wrong, err)...); err != nil {
		return Config{}, err
	}
	return c, nil
}

// debugMemory is also in the environment of a program that does not call LoadConfig, so that any can be
// examined.
func debugMemory(on bool) (bool, error) {
	text, ok := os.LookupEnv(envPrefix + "DEBUG_MEMORY")
	if !ok || on {
		return on, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%w: %sDEBUG_MEMORY = %q: want true or false", ErrConfig, envPrefix, text)
	}
	return on, nil
}

func (c *Config) readFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		// A number, true and false are written as they are; a text has quotes.
		if err := c.Set(name, string(bytes.Trim(values[name], `"`))); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", path, err))
		}
	}
	return errors.Join(wrong...)
}

// set changes nothing where the text is wrong.
func (p *Parameter) set(c *Config, text string) error {
	switch {
	case p.number != nil:
		return setTo(p, p.number(c), text, parseNumber)
	case p.duration != nil:
		return setTo(p, p.duration(c), text, time.ParseDuration)
	case p.word != nil:
		return p.word(c).UnmarshalText([]byte(text))
	case p.text != nil:
		*p.text(c) = text
		return nil
	}
	on, err := strconv.ParseBool(text)
	if err == nil {
		*p.flag(c) = on
	}
	return err
}

func setTo[T int | time.Duration](p *Parameter, field *T, text string, parse func(string) (T, error)) error {
	value, err := parse(text)
	switch {
	case err != nil:
		return err
	case value == 0 && !p.zero:
		return fmt.Errorf("0 is no value of it (%s)", p.Description)
	}
	*field = value
	return nil
}

func (p *Parameter) value(c *Config) string {
	switch {
	case p.number != nil:
		return strconv.Itoa(*p.number(c))
	case p.duration != nil:
		return p.duration(c).String()
	case p.word != nil:
		text, _ := p.word(c).MarshalText() // names cannot fail
		return string(text)
	case p.text != nil:
		return *p.text(c)
	default:
		return strconv.FormatBool(*p.flag(c))
	}
}

// parseNumber reads a number with or without a unit of bytes.
func parseNumber(text string) (int, error) {
	shift := 0
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			text, shift = strings.TrimSpace(number), 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errors.New("want a number, or one with KiB, MiB or GiB")
	}
	if n<<shift>>shift != n {
		return 0, errors.New("too large")
	}
	return int(n << shift), nil
}
