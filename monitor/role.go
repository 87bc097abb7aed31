package monitor

import (
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Role is what the owner of a token may do. Each has a token of its own.
type Role string

// The roles.
const (
	RoleAgent    Role = "agent"    // reports, and lets the programs of its machine be asked
	RoleReader   Role = "reader"   // asks for everything
	RoleOperator Role = "operator" // changes the parameters of programs, too
)

// roles are all that there are.
var roles = []Role{RoleAgent, RoleReader, RoleOperator}

// inbox begins the subjects of the replies that a role waits for, so that no other role can listen to them.
func (r Role) inbox() string { return "_INBOX_" + string(r) }

// permissions are what NATS lets a role do. All agents have the same, so that one can pretend to be another: the token of agents is for
// machines that trust each other as far as probes and statistics go, and gives no access to programs elsewhere.
func (r Role) permissions() *server.Permissions {
	publish, subscribe := []string{}, []string{r.inbox() + ".>"}
	switch r {
	case RoleAgent:
		publish = append(publish, subjectHello+"*", subjectWindow+"*")
		subscribe = append(subscribe, subjectCall, subjectAssign+"*", subjectRead+"*", subjectChange+"*")
	case RoleOperator:
		publish = append(publish, subjectState, subjectRead+"*", subjectChange+"*")
	case RoleReader:
		publish = append(publish, subjectState, subjectRead+"*")
	}
	p := &server.Permissions{Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe}}
	if r == RoleAgent {
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: maxAsked} // to whoever has asked
	}
	return p
}

// monitorUser is the monitor's own name at its NATS, where it may do everything.
const monitorUser = "monitor"

// users are who may connect to the embedded NATS.
func (c *credentials) users(own string) []*server.User {
	all := []*server.User{{Username: monitorUser, Password: own}}
	for _, r := range roles {
		all = append(all, &server.User{Username: string(r), Password: c.secrets[r], Permissions: r.permissions()})
	}
	return all
}

// Check says whether a text is the token of the role.
func (r Role) Check(join string) error {
	_, err := joinAs(join, r)
	return err
}

// joinAs are the options of NATS with which the owner of a token connects to the monitor.
func joinAs(join string, wanted ...Role) ([]nats.Option, error) {
	role, fingerprint, secret, err := parseJoin(join)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(wanted, role) {
		return nil, fmt.Errorf("%w: this is the token of %ss, and that of %ss is needed", ErrJoin, role, wanted[0])
	}
	return []nats.Option{
		nats.Secure(pinned(fingerprint)), nats.UserInfo(string(role), secret), nats.CustomInboxPrefix(role.inbox()), nats.Timeout(5 * time.Second),
	}, nil
}
