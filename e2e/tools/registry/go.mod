// An OCI registry in memory, for the tests of images that machines boot from the network.
module beskar7/e2e/tools/registry

go 1.26.0

tool github.com/google/go-containerregistry/cmd/registry

require github.com/google/go-containerregistry v0.22.1 // indirect
