#!/bin/sh
# For continuous integration: records a task, compares it with a baseline, and fails if the task executes more than the baseline allows.
# Documentation: docs/comparing.md.
set -eu

usage() {
  cat <<'END'
usage: jfluid-ci --baseline <file> --root <method> [options] -- <command>

Records the task <method> of <command>, and compares it with the profile <file>.

  --baseline <file>   profile of an earlier run; if it does not exist, nothing is compared, and the exit code is 0
  --root <method>     method where the task starts, as for jfluid run; repeatable
  --mode <mode>       bytecodes (default) or count
  --tolerance <part>  allowed growth per call of the root, for example 0.5% (default: none)
  --jvm <pattern>     only JVMs of the command with this main class, as for jfluid run
  --out <directory>   directory for the results (default: jfluid-ci)

Results: profile.jfluid (the next baseline), flame.svg (flame graph), comment.md (the difference, for a comment on a pull request).
In a GitHub workflow, comment.md is also added to the summary of the job.

The exit code is that of jfluid gate: 82 if the task executes more than the tolerance allows. If the recording fails, the exit code is
that of jfluid run, which is the exit code of a command that fails.
END
}

refuse() {
  echo "jfluid-ci: $1" >&2
  echo "  Use jfluid-ci --help for the options." >&2
  exit 64
}

here=$(dirname "$(readlink -f "$0")")
jfluid() {
  if [ -f "$here/../dist/cli.js" ]; then node "$here/../dist/cli.js" "$@"; else command jfluid "$@"; fi
}

baseline=''
mode=bytecodes
tolerance=''
jvm=''
out=jfluid-ci
roots=0
# The roots are moved to the end of the arguments, after the command: only "$@" keeps texts with blanks apart.
count=$#
command=0
while [ "$count" -gt 0 ]; do
  option=$1
  case $option in
    -h | --help) usage && exit 0 ;;
    --)
      shift
      command=$((count - 1))
      break
      ;;
    --baseline | --root | --mode | --tolerance | --jvm | --out) ;;
    *) refuse "unknown argument '$option'" ;;
  esac
  if [ "$count" -lt 2 ] || [ -z "$2" ] || [ "$2" = -- ]; then refuse "$option needs a value"; fi
  value=$2
  shift 2
  count=$((count - 2))
  case $option in
    --baseline) baseline=$value ;;
    --mode) mode=$value ;;
    --tolerance) tolerance=$value ;;
    --jvm) jvm=$value ;;
    --out) out=$value ;;
    --root)
      roots=$((roots + 1))
      set -- "$@" --root "$value"
      ;;
  esac
done
[ -n "$baseline" ] || refuse 'no --baseline was given'
[ "$roots" -gt 0 ] || refuse 'no --root was given'
[ "$command" -gt 0 ] || refuse 'no command was given after --'

# "$@" is: the command, then the roots. The command is moved behind the roots.
moved=0
set -- "$@" --
while [ "$moved" -lt "$command" ]; do
  set -- "$@" "$1"
  shift
  moved=$((moved + 1))
done

mkdir -p "$out"
profile=$out/profile.jfluid
comment=$out/comment.md
jfluid run --mode "$mode" --reproducible --record "$profile" ${jvm:+--jvm "$jvm"} "$@"
jfluid export "$profile" --out "$out/flame.svg"

status=0
{
  # The first line identifies the comment, so that a workflow can replace it.
  echo '<!-- jfluid-ci -->'
  if [ ! -f "$baseline" ]; then
    echo "There is no baseline yet: keep \`profile.jfluid\` as \`$baseline\`."
    echo
    jfluid export "$profile" --format markdown
  else
    # The messages of gate are printed, and only the last lines (the verdict) are in the comment.
    said=$(jfluid gate "$baseline" "$profile" ${tolerance:+--tolerance "$tolerance"} 2>&1) || status=$?
    echo "$said" >&2
    case $status in
      0) echo "**Passed**: a call of the root costs no more than the baseline allows (tolerance: ${tolerance:-none})." ;;
      82) echo "**FAILED**: $(echo "$said" | sed -n 's/^jfluid: //p')." ;;
      *) echo "**Not compared**: $(echo "$said" | sed -n 's/^jfluid: //p')." ;;
    esac
    echo
    jfluid compare "$baseline" "$profile" --markdown || true
  fi
  echo
  echo 'The flame graph of the new profile is `flame.svg`, among the results of this build.'
} >"$comment"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$comment" >>"$GITHUB_STEP_SUMMARY"; fi
exit "$status"
