package machine

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kernelMetapackage always depends on the newest kernel of Debian's release.
// The flavour for cloud machines has no RoCE driver.
const kernelMetapackage = "linux-image-amd64"

// kernelFile and the modules, by name, are what the cache keeps of a kernel.
const kernelFile = "vmlinuz"

// kernel is a kernel image and its modules.
type kernel struct {
	image   string // path of the file
	modules map[string][]byte
}

// loadKernel is Debian's newest kernel, from the cache or from the archive.
// Installing the package would touch the boot loader; only its files are used.
func loadKernel(ctx context.Context, cache string) (*kernel, error) {
	name, err := newestKernel(ctx)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, name)
	if _, err := os.Stat(filepath.Join(dir, kernelFile)); err != nil {
		if err := fetchKernel(ctx, cache, name, dir); err != nil {
			return nil, err
		}
	}
	k := &kernel{image: filepath.Join(dir, kernelFile), modules: map[string][]byte{}}
	for _, module := range wantedModules {
		data, err := os.ReadFile(filepath.Join(dir, module))
		if errors.Is(err, os.ErrNotExist) {
			continue // built into this kernel, or missed when the order is made
		}
		if err != nil {
			return nil, err
		}
		k.modules[module] = data
	}
	return k, nil
}

var kernelPackage = regexp.MustCompile(`linux-image-[0-9][0-9a-z.+-]*-amd64`)

// newestKernel is the name of the package that the metapackage depends on.
func newestKernel(ctx context.Context) (string, error) {
	output, err := exec.CommandContext(ctx, "apt-cache", "depends", kernelMetapackage).Output()
	if err != nil {
		return "", fmt.Errorf("%w: apt-cache does not know %s: %w", ErrUnavailable, kernelMetapackage, err)
	}
	name := kernelPackage.FindString(string(output))
	if name == "" {
		return "", fmt.Errorf("%w: %s depends on no kernel", ErrUnavailable, kernelMetapackage)
	}
	return name, nil
}

// fetchKernel downloads a kernel's package and keeps its wanted files in dir,
// which appears only when it is whole.
func fetchKernel(ctx context.Context, cache, name, dir string) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	download := exec.CommandContext(ctx, "apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", name)
	download.Dir = scratch
	if output, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: apt-get cannot download %s: %w: %s", ErrUnavailable, name, err, output)
	}
	packages, err := filepath.Glob(filepath.Join(scratch, "*.deb"))
	if err != nil || len(packages) != 1 {
		return fmt.Errorf("%w: apt-get downloaded %d packages for %s", ErrUnavailable, len(packages), name)
	}
	whole := filepath.Join(scratch, "whole")
	if err := os.Mkdir(whole, 0o755); err != nil {
		return err
	}
	if err := unpackKernel(ctx, packages[0], whole); err != nil {
		return err
	}
	return os.Rename(whole, dir)
}

// unpackKernel takes the kernel and the wanted modules out of a package.
func unpackKernel(ctx context.Context, pkg, dir string) error {
	unpack := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", pkg)
	files, err := unpack.StdoutPipe()
	if err != nil {
		return err
	}
	if err := unpack.Start(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	keepErr := keepWanted(tar.NewReader(files), dir)
	// The rest has to be read, or dpkg-deb fails because nobody does.
	_, _ = io.Copy(io.Discard, files)
	return errors.Join(keepErr, unpack.Wait())
}

func keepWanted(files *tar.Reader, dir string) error {
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		base := path.Base(header.Name)
		module, isModule := strings.CutSuffix(base, ".ko")
		switch {
		case header.Typeflag != tar.TypeReg:
			continue
		case strings.HasPrefix(base, "vmlinuz-"):
			base = kernelFile
		case isModule && slices.Contains(wantedModules, module):
			base = module
		default:
			continue
		}
		if err := keep(files, filepath.Join(dir, base)); err != nil {
			return err
		}
	}
}

func keep(r io.Reader, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
