package command

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// asCommand is the variable that makes the test binary the command itself, so
// that the second processes which the command starts are the command as well.
const asCommand = "BRAID_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Args[0] == fullName {
		fmt.Println(os.Args[1:])
		os.Exit(7)
	}
	if os.Getenv(asCommand) != "" {
		Main()
	}
	os.Exit(m.Run())
}

// braid runs a command line in this process.
func braid(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv(asCommand, "1")
	t.Setenv(fullVariable, "/nobody/takes/its/place")
	var out, err bytes.Buffer
	code = New(light()).Run(t.Context(), args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}
