// Command grpc runs gRPC over braid: unary calls, eight at a time, and a stream. Server and
// client are what they are over TCP, but for the listener of the one and the dialer of the
// other. The greeter is written by hand, so that the example needs no generated code.
package main

import (
	"context"
	"fmt"
	"log"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/braid-rdma/braid"
	"github.com/braid-rdma/braid/netconn"
)

const service = "braid.Greeter"

// greeter describes a service of one method.
var greeter = grpc.ServiceDesc{
	ServiceName: service,
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Hello",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var name wrapperspb.StringValue
			if err := decode(&name); err != nil {
				return nil, err
			}
			return wrapperspb.String("hello, " + name.Value), nil
		},
	}},
}

func main() {
	ctx := context.Background()
	server, client := open(), open()
	defer server.Close()
	defer client.Close()

	listener, err := netconn.Listen(server, 0)
	check(err)
	state := health.NewServer()
	rpc := grpc.NewServer()
	rpc.RegisterService(&greeter, nil)
	healthpb.RegisterHealthServer(rpc, state)
	served := make(chan error)
	go func() { served <- rpc.Serve(listener) }()

	conn, err := grpc.NewClient("passthrough:///"+listener.Addr().String(),
		grpc.WithContextDialer(netconn.Dialer{Context: client}.DialAddress),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)

	replies := make([]wrapperspb.StringValue, 8)
	var calls sync.WaitGroup
	for i := range replies {
		calls.Go(func() {
			check(conn.Invoke(ctx, "/"+service+"/Hello", wrapperspb.String(fmt.Sprint("gopher ", i)), &replies[i]))
		})
	}
	calls.Wait()
	for i := range replies {
		fmt.Println(replies[i].Value)
	}

	watch, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{Service: service})
	check(err)
	for _, status := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING} {
		news, err := watch.Recv()
		check(err)
		fmt.Println("the greeter is", news.Status)
		state.SetServingStatus(service, status)
	}

	check(conn.Close())
	rpc.GracefulStop()
	check(<-served)
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
