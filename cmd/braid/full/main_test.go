package full

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/cmd/braid/command"
	"github.com/braid-rdma/braid/cmd/braid/internal/cli"
)

// asCommand is the variable that makes the test binary the command itself, so
// that the second processes which the command starts are the command as well.
const asCommand = "BRAID_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	registerOwnPolicy()
	if os.Getenv(asCommand) != "" {
		Main()
	}
	os.Exit(m.Run())
}

// braid runs a command line in this process.
func braid(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv(asCommand, "1")
	var out, err bytes.Buffer
	code = newProgram().Run(t.Context(), args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

func TestUsageErrors(t *testing.T) {
	tests := []struct {
		args string
		want string // part of what is printed
	}{
		{"fly", `unknown command "fly"`},
		{"dmeo", "did you mean demo?"},
		{"perf serve --max-memory 0", "--max-memory 0"},
		{"perf serve --max-clients 0", "--max-clients 0"},
		{"perf serve --idle-timeout 0s", "--idle-timeout 0s"},
		{"perf fly", `unknown command "fly"`},
		{"perf write fly", `unknown command "fly"`},
		{"perf write bw --fly", "unknown flag: --fly"},
		{"perf write bw a b", "accepts at most 1 arg"},
		{"perf write bw host --loopback", "leave out HOST"},
		{"perf write bw --loopback --local 10.0.0.1", "leave out --local"},
		{"perf write bw --loopback --cc dcqcn", "is a rate control of RC queue pairs"},
		{"perf write bw --loopback --qp rc --policy spray", "use them with mp"},
		{"perf write bw --loopback --policy ecmp", "use one of ack-clock, single"},
		{"perf write bw --loopback --line-rate 10", "use it with rc"},
		{"perf write bw --loopback --trace -", "use a file or a named pipe"},
		{"demo --policy ecmp", "use one of ack-clock, single"},
		{"sim run quickstart --cc dcqcn", "fits no transport"},
		{"perf write bw --loopback -p 1", "leave out --port"},
		{"perf write bw --loopback -s 0", "--size must be above zero"},
		{"perf write bw --loopback -s -1", "size -1"},
		{"perf write bw --loopback -s 64KB", "64K and 64KiB are 65536"},
		{"perf write bw --loopback -s 2G", "size 2147483648"},
		{"perf write bw --loopback -s 9999999999G", "it is too large"},
		{"perf serve --max-memory lots", "use a number of bytes"},
		{"perf write bw --loopback -s 1 -a", "exclude each other"},
		{"perf write bw --loopback -n 1 -D 1", "exclude each other"},
		{"perf write bw --loopback -D -1", "--duration -1"},
		{"perf write bw --loopback -D 1e300", "--duration"},
		{"perf write bw --loopback -i soon", "500ms"},
		{"perf write bw --loopback -i 1ms", "at least 10ms"},
		{"perf write bw --loopback -c UD", "use RC or MP"},
		{"perf write bw --loopback -c RC --qp mp", "exclude each other"},
		{"perf write bw host --compat perftest -R", "leave it out at both ends"},
		{"perf write bw host --compat perftest -c MP", "standard queue pairs only"},
		{"perf write bw --loopback -Q 129", "groups of 129"},
		{"perf write bw --loopback -l 0", "--post_list must be above zero"},
		{"perf write bw --loopback --run_infinitely -n 5", "excludes --iters"},
		{"perf send bw --loopback -r 100000000", "rx depth"},
		{"perf write bw --loopback -I 1M", "inline size 1048576"},
		{"perf write bw --loopback -T 256", "--tos 256"},
		{"perf serve -T -1", "--tos -1"},
		{"perf write bw --loopback -m 1502", "MTU 1502"},
		{"perf write bw --loopback --qp ud", "use mp or rc"},
		{"perf write bw --loopback --qp rc --paths 4", "--paths belongs to --qp mp"},
		{"perf write bw --loopback --qp rc --policy spray", "use them with mp"},
		{"perf write bw --loopback --policy luck", "unknown path policy"},
		{"perf write bw --loopback --cc luck", "unknown congestion control"},
		{"perf write bw host --local nowhere", "is no IP address"},
		{"perf write bw host --port 70000", "--port 70000"},
		{"perf write lat --loopback -q 2", "unknown shorthand flag: 'q'"},
		{"perf atomic bw --loopback -s 8", "unknown shorthand flag: 's'"},
		{"perf flows", "name a HOST"},
		{"perf flows host --loopback", "leave out HOST"},
		{"perf flows host --model luck", "or one of web search, hadoop, storage; or elephants-mice"},
		{"perf flows host --model 10:50", "100 percent at the last point"},
		{"perf flows host --rate 1 --load 0.5 --link 1", "exclude each other"},
		{"perf flows host --load 0.5", "belong together"},
		{"perf flows host --rate -1", "must be above zero"},
		{"perf flows host --load NaN --link 10", "must be above zero"},
		{"perf flows host --rate 1000 --model 1:100", "a flow of custom begins every"},
		{"perf flows host --off 1s", "needs a time to be on"},
		{"perf flows host --cdf x --model hadoop", "exclude each other"},
		{"perf flows host --depth 0", "--depth must be above zero"},
		{"perf flows host --depth 5000", "5000 queue pairs"},
		{"perf flows host --all-to-all", "name 2 to 64 hosts"},
		{"perf flows a b --all-to-all --incast", "exclude each other"},
		{"perf flows --loopback --all-to-all", "start several"},
		{"perf flows a b --all-to-all --trace x", "no queue pairs to trace"},
		{"perf serve now", "unknown command"},
		{"perf serve --flows-to nowhere", "use a network such as"},
		{"perf serve --flows-to 10.0.0.1,10.0.0.0/99", "use a network such as"},
		{"perf serve --flows-rate 1", "belongs to --flows-to"},
		{"perf serve --flows-to ::/0 --flows-rate NaN", "--flows-rate must be above zero"},
		{"perf serve --flows-to 10.0.0.1 --flows-time 0s", "--flows-time must be above zero"},
		{"perf serve --flows-to 10.0.0.1 --compat perftest", "leave out --compat"},
		{"perf serve --bind somewhere", "--bind \"somewhere\""},
		{"perf serve --local 127.0.0.1", "use --bind"},
		{"perf serve --port -1", "--port -1"},
		{"demo now", "unknown command"},
		{"demo --paths 1", "1 paths"},
		{"demo --cut-path 9", "path 9 to cut"},
		{"demo --duration 0.001", "duration"},
		{"lab fly", `unknown command "fly"`},
		{"lab up now", "unknown command"},
		{"lab up --rate fast", "write it as 1gbit"},
		{"lab up --spines 99", "99 spines"},
		{"lab up --name ../x", "lower-case letters"},
		{"lab exec h0", "requires at least 2 arg"},
		{"lab fault cut one", "use a number from 0 on"},
		{"lab fault loss 1", "accepts 2 arg"},
		{"lab run", "requires at least 1 arg"},
		{"lab run cuts --kinds pigeon", "use one of"},
		{"lab run nothing", "there are paths, spread, loss"},
		{"ping", "which host?"},
		{"ping host --loopback", "leave out HOST"},
		{"ping --loopback -p 1", "leave out --local and --port"},
		{"ping host -c 0", "--count must be above zero"},
		{"ping host -i 0.001", "a ping is not a flood"},
		{"ping host -i fast", "invalid duration"},
		{"ping host -i -1", "use up to"},
		{"ping host -W 0", "--timeout 0s"},
		{"ping host -s 39", "--size \"39\""},
		{"ping host -s 64,2M", "--size \"2M\""},
		{"ping host -s 99999999999999999999K", "as in 64,4K,64K"},
		{"ping host --by icmp", "use ud, rc, mp or all"},
		{"ping host --paths 0", "--paths 0"},
		{"ping host --path 256", "--path 256"},
		{"ping host --path 1 --paths 2", "exclude each other"},
		{"ping host --path 1 --by all", "chooses its paths itself"},
		{"ping host --local nowhere", "is no IP address"},
		{"ping host --port 70000", "--port 70000"},
		{"ping serve now", "unknown command"},
		{"ping serve --bind somewhere", "--bind \"somewhere\""},
		{"ping serve --rate 0", "--rate 0"},
		{"ping serve --max-connections 0", "--max-connections 0"},
		{"ping serve --idle-timeout 0s", "--idle-timeout 0s"},
		{"stat 0", "is no process number"},
		{"stat --interval -1s", "must not be negative"},
		{"stat --watch --interval 0", "10ms or more"},
		{"why what", "the token of the monitor is needed"},
		{"adm set a=1 x", "the token of the monitor is needed"},
		{"version now", "unknown command"},
		{"man", "accepts 1 arg"},
	}
	for _, test := range tests {
		code, stdout, stderr := braid(t, strings.Fields(test.args)...)
		if code != cli.ExitUsage || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit code %d, %q; want code 2 and %q", test.args, code, stderr, test.want)
		}
		if stdout != "" || strings.Contains(stderr, "Usage:") || !strings.Contains(stderr, "--help") {
			t.Errorf("%s: prints %q and %q, want a hint at --help on stderr only", test.args, stdout, stderr)
		}
	}
}

func TestRuntimeErrorsSayWhatToDo(t *testing.T) {
	code, _, stderr := braid(t, "perf", "write", "bw", "127.0.0.1", "--port", "1")
	if code != cli.ExitFailed || !strings.Contains(stderr, "is `braid perf serve` running there?") || strings.Contains(stderr, "Usage") {
		t.Errorf("nobody listens: exit code %d, %q", code, stderr)
	}
	code, _, stderr = braid(t, "ping", "bad..name")
	if code != cli.ExitFailed || !strings.Contains(stderr, "ping bad..name: no such host") {
		t.Errorf("a name without an address: exit code %d, %q", code, stderr)
	}
	code, _, stderr = braid(t, "man", "/dev/null/pages")
	if code != cli.ExitFailed || !strings.Contains(stderr, "directory that can be written") {
		t.Errorf("man into no directory: exit code %d, %q", code, stderr)
	}
}

func TestInterruptedBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, err bytes.Buffer
	if code := newProgram().Run(ctx, []string{"perf", "serve", "--bind", "loopback", "--port", "0"}, strings.NewReader(""), &out, &err); code != cli.ExitInterrupted {
		t.Errorf("exit code %d, %q", code, err.String())
	}
}

func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	commands := [][]string{{}, {"demo"}, {"perf"}, {"perf", "serve"}, {"perf", "flows"}, {"ping"}, {"ping", "serve"}, {"stat"}, {"why"}, {"agent"}, {"monitor"}, {"version"}, {"man"}}
	for _, adm := range []string{"", "show", "set", "history", "rollback"} {
		commands = append(commands, strings.Fields("adm "+adm))
	}
	for _, lab := range []string{"", "up", "down", "status", "exec", "run", "fault", "fault cut", "fault loss", "fault rate", "fault ecn", "fault flap", "fault restore"} {
		commands = append(commands, strings.Fields("lab "+lab))
	}
	for _, op := range []string{"write", "read", "send", "atomic"} {
		commands = append(commands, []string{"perf", op}, []string{"perf", op, "bw"}, []string{"perf", op, "lat"})
	}
	for _, command := range commands {
		code, stdout, stderr := braid(t, append(command, "--help")...)
		if code != cli.ExitOK || stderr != "" || !strings.Contains(stdout, "Examples:\n  braid") {
			t.Errorf("%v --help: exit code %d, %q, %q", command, code, stdout, stderr)
		}
	}
}

func TestCompletionOffersValues(t *testing.T) {
	code, stdout, _ := braid(t, "__complete", "perf", "write", "bw", "--policy", "")
	if code != cli.ExitOK || !strings.Contains(stdout, "round-robin") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
	if code, stdout, _ := braid(t, "__complete", "lab", "run", ""); code != cli.ExitOK || !strings.Contains(stdout, "cuts") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
	if code, stdout, _ := braid(t, "__complete", "ping", "--by", ""); code != cli.ExitOK || !strings.Contains(stdout, "rc") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, stdout, _ := braid(t, "completion", shell); code != cli.ExitOK || len(stdout) < 1000 {
			t.Errorf("%s: exit code %d, %d bytes", shell, code, len(stdout))
		}
	}
}

// TestOthersAreKnown checks that the everyday command knows the commands that only this one has, and says the same of them.
func TestOthersAreKnown(t *testing.T) {
	var others [][2]string
	for _, cmd := range newProgram().Root.Commands() {
		if !slices.Contains([]string{"demo", "perf", "ping", "stat", "why", "adm", "version"}, cmd.Name()) {
			others = append(others, [2]string{cmd.Name(), cmd.Short})
		}
	}
	known := slices.Clone(command.Others)
	order := func(a, b [2]string) int { return strings.Compare(a[0], b[0]) }
	slices.SortFunc(known, order)
	slices.SortFunc(others, order)
	if !slices.Equal(known, others) {
		t.Errorf("it knows %q, there are %q", known, others)
	}
}
