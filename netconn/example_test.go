package netconn_test

import (
	"fmt"
	"io"
	"net/http"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/netconn"
)

func Example() {
	server, _ := braid.Open(braid.Config{})
	defer server.Close()
	l, _ := netconn.Listen(server, 0)
	defer l.Close()
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello over braid")
	}))

	client, _ := braid.Open(braid.Config{})
	defer client.Close()
	transport := &http.Transport{DialContext: netconn.Dialer{Context: client}.DialContext}
	defer transport.CloseIdleConnections()
	r, err := (&http.Client{Transport: transport}).Get("http://" + l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	fmt.Println(string(body))
	// Output: hello over braid
}
