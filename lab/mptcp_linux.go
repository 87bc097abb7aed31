package lab

import (
	"encoding/binary"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Of the kernel's MPTCP path manager (linux/mptcp_pm.h), which talks generic
// netlink: family, commands, attributes and flags.
const (
	mptcpFamily  = "mptcp_pm"
	mptcpVersion = 1

	mptcpAddAddress     = 1
	mptcpFlushAddresses = 4
	mptcpSetLimits      = 5

	mptcpAttrAddress  = 1
	mptcpAttrAccepted = 2
	mptcpAttrSubflows = 3

	mptcpAddressFamily = 1
	mptcpAddressID     = 2
	mptcpAddressIPv4   = 3
	mptcpAddressFlags  = 6

	mptcpFlagSubflow = 1 << 1
	// maxSubflows is what the kernel allows beside the first subflow.
	maxSubflows = 8
)

// EnableMPTCP lets the MPTCP connections of a host have one subflow for each
// path: one that is made from the host's address for the first path gets
// subflows from those for the others. Its peers need to allow as many.
func (n *Network) EnableMPTCP(host string) error {
	node, err := n.Node(host)
	if err != nil {
		return err
	}
	return inside(n.Namespace(host), func() error {
		if err := setSysctl("net.mptcp.enabled", "1"); err != nil {
			return err
		}
		family, err := netlink.GenlFamilyGet(mptcpFamily)
		if err != nil {
			return explain(err, "finding the MPTCP path manager", "MPTCP (CONFIG_MPTCP)")
		}
		if err := setMPTCPLimits(family.ID); err != nil {
			return err
		}
		// What was added before would be refused the second time.
		if _, err := mptcpRequest(family.ID, mptcpFlushAddresses).Execute(unix.NETLINK_GENERIC, 0); err != nil {
			return explain(err, "removing MPTCP's addresses", "MPTCP (CONFIG_MPTCP)")
		}
		for i, addr := range node.Pinned {
			if i == 0 || i > maxSubflows {
				continue
			}
			if err := addMPTCPAddress(family.ID, addr, i); err != nil {
				return err
			}
		}
		return nil
	})
}

func setMPTCPLimits(family uint16) error {
	request := mptcpRequest(family, mptcpSetLimits)
	request.AddData(nl.NewRtAttr(mptcpAttrSubflows, nl.Uint32Attr(maxSubflows)))
	request.AddData(nl.NewRtAttr(mptcpAttrAccepted, nl.Uint32Attr(maxSubflows)))
	_, err := request.Execute(unix.NETLINK_GENERIC, 0)
	return explain(err, "setting MPTCP's limits", "MPTCP (CONFIG_MPTCP)")
}

func addMPTCPAddress(family uint16, addr netip.Addr, id int) error {
	v4 := addr.As4()
	nested := nl.NewRtAttr(mptcpAttrAddress|unix.NLA_F_NESTED, nil)
	nested.AddRtAttr(mptcpAddressFamily, binary.NativeEndian.AppendUint16(nil, unix.AF_INET))
	nested.AddRtAttr(mptcpAddressID, []byte{byte(id)})
	nested.AddRtAttr(mptcpAddressIPv4, v4[:])
	nested.AddRtAttr(mptcpAddressFlags, nl.Uint32Attr(mptcpFlagSubflow))
	request := mptcpRequest(family, mptcpAddAddress)
	request.AddData(nested)
	_, err := request.Execute(unix.NETLINK_GENERIC, 0)
	return explain(err, "adding an address for MPTCP", "MPTCP (CONFIG_MPTCP)")
}

func mptcpRequest(family uint16, command uint8) *nl.NetlinkRequest {
	request := nl.NewNetlinkRequest(int(family), unix.NLM_F_ACK)
	request.AddData(&nl.Genlmsg{Command: command, Version: mptcpVersion})
	return request
}
