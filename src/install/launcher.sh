#!/bin/sh
# Starts jfluid with the Node.js of its own folder. bundle.mjs replaces @LOADER@.

self=$0
case $self in */*) ;; *) self=./$self ;; esac
while [ -L "$self" ]; do
  to=$(readlink "$self")
  case $to in /*) self=$to ;; *) self=${self%/*}/$to ;; esac
done
lib=$(CDPATH='' cd -P "${self%/*}/../lib/jfluid" && pwd) || exit 72 # EX_OSFILE, src/base/errors.ts

# Without its loader, a shell would only report that the file "node" was not found.
if [ ! -e '@LOADER@' ]; then
  echo 'jfluid: this build of jfluid needs @LOADER@, which does not exist here: another C library (Alpine has musl), or another processor' >&2
  echo '  Run jfluid outside of this container: jfluid attach container:<name>. Or run it in a container of its own: docs/install.md' >&2
  exit 69 # EX_UNAVAILABLE
fi

# exec: signals reach Node.js directly, and its exit code is ours.
exec "$lib/node" "$lib/dist/cli.js" "$@"
