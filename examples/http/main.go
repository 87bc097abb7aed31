// Command http runs net/http over braid. Server and client are what they are over TCP,
// but for the listener of the one and the DialContext of the other.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/netconn"
)

func main() {
	server, client := open(), open()
	defer server.Close()
	defer client.Close()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello, %s", r.URL.Query().Get("name"))
	})
	mux.HandleFunc("POST /sum", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.New()
		n, err := io.Copy(sum, r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, "%d bytes, %x", n, sum.Sum(nil)[:8])
	})
	listener, err := netconn.Listen(server, 0)
	check(err)
	web := &http.Server{Handler: mux}
	served := make(chan error)
	go func() { served <- web.Serve(listener) }()

	browser := &http.Client{Transport: &http.Transport{DialContext: netconn.Dialer{Context: client}.DialContext}}
	url := "http://" + listener.Addr().String()
	show(browser.Get(url + "/hello?name=gopher"))
	show(browser.Post(url+"/sum", "text/plain", bytes.NewReader(bytes.Repeat([]byte("braid "), 1<<20))))

	check(web.Shutdown(context.Background()))
	fmt.Println("the server has ended:", <-served)
}

// show prints a response.
func show(r *http.Response, err error) {
	check(err)
	body, err := io.ReadAll(r.Body)
	check(err)
	check(r.Body.Close())
	fmt.Printf("%s %s: %s: %s\n", r.Request.Method, r.Request.URL.Path, r.Status, body)
}

func open() *braid.Context {
	c, err := braid.Open(braid.Config{})
	check(err)
	return c
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
