#!/bin/sh
# For continuous integration: records a task, compares it with a baseline, and fails if the task executes more than the baseline allows.
# Documentation: docs/comparing.md.
set -eu

usage() {
  cat <<'END'
usage: jfluid-ci --baseline <file> --root <method> [options] -- <command>

Records the task <method> of <command>, and compares it with the profile <file>.

  --baseline <file>   profile of an earlier run; if it does not exist, nothing is compared
  --root <method>     method where the task starts, as for jfluid run; repeatable
  --mode <mode>       bytecodes (default) or count
  --scheme <scheme>   auto (default), a or b, as for jfluid run
  --tolerance <part>  allowed growth per call of the root, for example 0.5% (default: none)
  --jvm <pattern>     only JVMs of the command with this main class, as for jfluid run
  --out <directory>   directory for the results (default: jfluid-ci)

Results: profile.jfluid (the next baseline), flame.svg (flame graph), comment.md (the difference, for a comment on a pull request).
The results of an earlier run are removed first. In a GitHub workflow, comment.md is also added to the summary of the job.

If the recording has gaps, the command runs again, at most twice.

The exit code is that of jfluid gate: 82 if the task executes more than the tolerance allows, 65 if the profiles cannot be compared. If
the recording fails, the exit code is that of jfluid run, which is the exit code of a command that fails.
END
}

refuse() {
  echo "jfluid-ci: $1" >&2
  echo "  ${2:-Use jfluid-ci --help for the options.}" >&2
  exit 64
}

MAX_RECORDINGS=3

baseline=''
mode=bytecodes
scheme=''
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
    --baseline | --root | --mode | --scheme | --tolerance | --jvm | --out) ;;
    *) refuse "unknown argument '$option'" ;;
  esac
  if [ "$count" -lt 2 ] || [ -z "$2" ] || [ "$2" = -- ]; then refuse "$option needs a value"; fi
  value=$2
  shift 2
  count=$((count - 2))
  case $option in
    --baseline) baseline=$value ;;
    --mode) mode=$value ;;
    --scheme) scheme=$value ;;
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

here=$(dirname "$(readlink -f "$0")")
if [ -e "$here/../node" ]; then
  jfluid=$here/../../../bin/jfluid # the archive with Node.js
elif [ -e "$here/../dist/cli.js" ]; then
  jfluid=$here/../dist/cli.js # the npm package
else
  jfluid=jfluid # a checkout without a build, as for action.yml
fi
if ! command -v "$jfluid" >/dev/null; then
  echo "jfluid-ci: $jfluid was not found on the PATH" >&2
  echo '  Install jfluid first, from the npm package or from the archive with Node.js: docs/install.md' >&2
  exit 69 # EX_UNAVAILABLE, src/base/errors.ts
fi

mkdir -p "$out"
profile=$out/profile.jfluid
flame=$out/flame.svg
comment=$out/comment.md
if [ "$(readlink -f "$baseline")" = "$(readlink -f "$profile")" ]; then
  refuse "the new profile would replace the baseline, $baseline" 'Copy the baseline to another path, or use another directory for --out.'
fi
first=$profile.first
# Removes the profiles of single JVMs: profile.<process id>.jfluid
remove_parts() {
  for old in "$out"/profile.[0-9]*.jfluid; do
    if ! [ "$old" -ef "$baseline" ]; then rm -f "$old"; fi
  done
}
rm -f "$profile" "$first" "$flame" "$comment"
remove_parts

# Writes comment.md, and ends with the exit code $1. $2 is the result, $3 a table or empty.
finish() {
  {
    # The first line identifies the comment, so that a workflow can replace it.
    printf '%s\n' '<!-- jfluid-ci -->' "$2"
    if [ -n "$3" ]; then printf '\n%s\n' "$3"; fi
    if [ -e "$flame" ]; then
      printf '\n%s\n' 'The flame graph of the new profile is `flame.svg`, among the results of this build.'
    fi
  } >"$comment"
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$comment" >>"$GITHUB_STEP_SUMMARY"; fi
  exit "$1"
}

# A new baseline is compared with itself: jfluid gate refuses a profile that cannot be a baseline.
before=$baseline
if [ ! -e "$baseline" ]; then before=$profile; fi
recordings=1
while :; do
  status=0
  "$jfluid" run --mode "$mode" ${scheme:+--scheme "$scheme"} --reproducible --record "$profile" ${jvm:+--jvm "$jvm"} "$@" ||
    status=$?
  if [ "$status" -ne 0 ] && [ -e "$first" ]; then
    # A command may have nothing left to do: Gradle runs up-to-date tests only with --rerun-tasks.
    problem="$problem; the recording could not be repeated: \`jfluid run\` ended with exit code $status"
    status=$refused
    mv -f "$first" "$profile"
    break
  fi
  if [ "$status" -ne 0 ]; then
    finish "$status" "**Not compared**: \`jfluid run\` ended with exit code $status. The output of the build has the cause." ''
  fi
  said=$("$jfluid" gate "$before" "$profile" ${tolerance:+--tolerance "$tolerance"} 2>&1) || status=$?
  if [ "$before" = "$profile" ]; then said=$(printf '%s\n' "$said" | sed 's/^jfluid: the baseline/jfluid: the new profile/'); fi
  problem=$(printf '%s\n' "$said" | sed -n 's/^jfluid: //p')
  case $problem in
    *'the new profile does not contain all calls: '*gap*) ;; # a gap depends on the load of the machine
    *) break ;;
  esac
  if [ "$recordings" -ge "$MAX_RECORDINGS" ]; then break; fi
  recordings=$((recordings + 1))
  refused=$status
  mv -f "$profile" "$first"
  remove_parts
  echo "jfluid-ci: $problem; recording $recordings of at most $MAX_RECORDINGS" >&2
done

rm -f "$first"
problem=${problem:-"\`jfluid gate\` ended with exit code $status"}
case $status in
  0) result="**Passed**: a call of the root costs no more than the baseline allows (tolerance: ${tolerance:-none})." ;;
  82) result="**FAILED**: $problem." ;;
  *) result="**Not compared**: $problem." ;;
esac
if [ "$before" = "$baseline" ]; then
  printf '%s\n' "$said" >&2
elif [ "$status" -eq 0 ]; then
  result="There is no baseline yet: keep \`profile.jfluid\` as \`$baseline\`."
else
  printf '%s\n' "$said" >&2
  result="There is no baseline yet, and this profile cannot be the baseline: $problem."
fi

# Adds to the result that jfluid $1 has ended with exit code $2.
incomplete() {
  result="$result

**Incomplete**: \`jfluid $1\` ended with exit code $2. The output of the build has the cause."
  if [ "$status" -eq 0 ]; then status=$2; fi
}

"$jfluid" export "$profile" --out "$flame" || { incomplete export $? && rm -f "$flame"; }
if [ "$before" = "$baseline" ]; then
  table=$("$jfluid" compare "$baseline" "$profile" --markdown) || { incomplete compare $? && table=''; }
else
  table=$("$jfluid" export "$profile" --format markdown) || { incomplete export $? && table=''; }
fi
finish "$status" "$result" "$table"
