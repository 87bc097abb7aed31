package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/braid-rdma/braid/operate"
)

// httpError is an error with the status that tells of it.
type httpError struct {
	status int
	error
}

func (e *httpError) Unwrap() error { return e.error }

func fail(status int, format string, args ...any) error {
	return &httpError{status, fmt.Errorf(format, args...)}
}

// statusOf is how HTTP names an error.
func statusOf(err error) int {
	var own *httpError
	var refused *operate.RefusedError
	switch {
	case errors.As(err, &own):
		return own.status
	case errors.Is(err, errNoProgram):
		return http.StatusNotFound
	case errors.Is(err, errReadOnly):
		return http.StatusForbidden
	case errors.Is(err, errNoAgent), errors.Is(err, errQuestions):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.As(err, &refused):
		return http.StatusUnprocessableEntity
	}
	return http.StatusBadGateway
}

// writeError tells what is wrong, as JSON.
func writeError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "5")
	}
	writeJSON(w, status, map[string]string{"error": err.Error()})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever asked may be gone
}

// readJSON reads the body of a request, which has to say what it is: a form of another page cannot.
func readJSON(r *http.Request, v any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return fail(http.StatusUnsupportedMediaType, "want a body of application/json")
	}
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(v)
	if err == nil {
		if _, err = decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		err = errors.New("more than one value")
	}
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return fail(http.StatusRequestEntityTooLarge, "a body of more than %d bytes", long.Limit)
	}
	return fail(http.StatusBadRequest, "the body cannot be read: %w", err)
}

// anybody is for requests of people who need not be known.
func (p *Page) anybody(handle func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		result, err := handle(r)
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the body has come, or is not wanted
		if err != nil {
			writeError(w, err)
			return
		}
		if c, ok := result.(cookied); ok {
			http.SetCookie(w, c.cookie)
			result = c.result
		}
		writeJSON(w, http.StatusOK, result)
	}
}

// cookied is a result with a cookie.
type cookied struct {
	result any
	cookie *http.Cookie
}

// reader is for requests of those who may read.
func (p *Page) reader(handle func(*http.Request, visitor) (any, error)) http.HandlerFunc {
	return p.anybody(func(r *http.Request) (any, error) {
		v, err := p.who(r)
		if err != nil {
			return nil, err
		}
		return handle(r, v)
	})
}

// operator is for requests of those who may change something.
func (p *Page) operator(handle func(*http.Request, visitor) (any, error)) http.HandlerFunc {
	return p.reader(func(r *http.Request, v visitor) (any, error) {
		if v.Role != RoleOperator {
			return nil, fail(http.StatusForbidden, "the token of an operator is needed to change something: log in with it")
		}
		return handle(r, v)
	})
}
