package machine

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// basePrograms are in every machine: guestinit uses them, and so do people.
var basePrograms = []string{"ip", "rdma", "busybox"}

// provider is the user-space half of the RoCE driver, which libibverbs loads by
// the name in its configuration.
const (
	providerGlob   = "/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so"
	providerConfig = "/etc/libibverbs.d/rxe.driver"
)

// loadedLibraries are those that programs load without being linked with them:
// the C library needs this one to end a thread.
var loadedLibraries = []string{"libgcc_s.so.1"}

// imageFile is the initramfs in the folder of an image.
const imageFile = "initramfs"

// Image says what a machine is made of.
type Image struct {
	Programs []string          // by name, from this host's search path
	Files    map[string]string // further programs: path here, path in the machine
	Cache    string            // folder that keeps the kernel; default: one below the user's
}

// BuildImage writes into a folder what Boot needs: the kernel, and an initramfs
// with guestinit, the kernel's modules and programs. It needs this host's own
// network the first time, to download the kernel.
func BuildImage(ctx context.Context, image Image, dir string) (err error) {
	if err := Requirements(image.Programs...); err != nil {
		return err
	}
	if image.Cache == "" {
		if image.Cache, err = defaultCache(); err != nil {
			return err
		}
	}
	k, err := loadKernel(ctx, image.Cache)
	if err != nil {
		return err
	}
	if err := os.Symlink(k.image, filepath.Join(dir, kernelFile)); err != nil {
		return err
	}
	a := archive{}
	if err := a.addPrograms(&image); err != nil {
		return err
	}
	if err := a.addGuestInit(ctx, dir); err != nil {
		return err
	}
	if err := a.addModules(k.modules); err != nil {
		return err
	}
	if err := a.addProvider(); err != nil {
		return err
	}
	return a.writeFile(filepath.Join(dir, imageFile))
}

// defaultCache is below the user's folder for what can be fetched again.
func defaultCache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: no folder to keep the kernel in: %w", ErrUnavailable, err)
	}
	return filepath.Join(dir, "braid", "interop"), nil
}

// addPrograms adds what runs in the machine.
func (a archive) addPrograms(image *Image) error {
	for _, program := range slices.Concat(basePrograms, image.Programs) {
		found, err := exec.LookPath(program)
		if err != nil {
			return fmt.Errorf("%w: missing: %s", ErrUnavailable, program)
		}
		if err := a.addProgram(found, "/bin/"+program); err != nil {
			return err
		}
	}
	for hostPath, name := range image.Files {
		if err := a.addProgram(hostPath, name); err != nil {
			return err
		}
	}
	for _, library := range loadedLibraries {
		found := findLibrary(library)
		if found == "" {
			return fmt.Errorf("%w: missing: %s", ErrUnavailable, library)
		}
		if err := a.addProgram(found, libraryDir+"/"+library); err != nil {
			return err
		}
	}
	for _, applet := range []string{"sh", "cat", "sleep"} {
		a["/bin/"+applet] = archived{target: "busybox"}
	}
	return nil
}

// addGuestInit builds the machine's first process from its source.
func (a archive) addGuestInit(ctx context.Context, scratch string) error {
	program := filepath.Join(scratch, "guestinit")
	if err := BuildStatic(ctx, "github.com/braid-rdma/braid/interop/rxe/guestinit", program); err != nil {
		return err
	}
	return a.addFile(program, "/init")
}

// BuildStatic builds a Go program that needs no library, for use in a machine.
func BuildStatic(ctx context.Context, pkg, output string) error {
	build := exec.CommandContext(ctx, "go", "build", "-o", output, pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: go build %s: %w\n%s", ErrImage, pkg, err, text)
	}
	return nil
}

func (a archive) addModules(modules map[string][]byte) error {
	order, err := moduleOrder(modules)
	if err != nil {
		return err
	}
	for _, name := range order {
		a["/modules/"+name] = archived{data: modules[name]}
	}
	a["/modules/order"] = archived{data: []byte(strings.Join(order, "\n") + "\n")}
	return nil
}

// addProvider adds the user-space half of the driver, which no program is
// linked with.
func (a archive) addProvider() error {
	found, err := filepath.Glob(providerGlob)
	if err != nil || len(found) == 0 {
		return fmt.Errorf("%w: missing: %s (Debian: ibverbs-providers)", ErrUnavailable, providerGlob)
	}
	for _, path := range found {
		if err := a.addProgram(path, path); err != nil {
			return err
		}
	}
	return a.addFile(providerConfig, providerConfig)
}

func (a archive) writeFile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := a.writeTo(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
