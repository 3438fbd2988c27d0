// Completion scripts for shells. The scripts call `jfluid __complete <words>` (complete.ts). The first line of the output is the kind of
// files to offer.

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

// Script for bash 4 and newer. bash splits words at `:` and `=`. Of process ids, options and files, only --option=value contains these
// characters.
const BASH = `# jfluid completion for bash: eval "$(jfluid completion bash)"
_jfluid() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}") current="\${COMP_WORDS[COMP_CWORD]}" files value says
  COMPREPLY=()
  if [[ $COMP_CWORD -ge 2 && "\${COMP_WORDS[COMP_CWORD-1]}" == "=" ]]; then
    words=("\${COMP_WORDS[@]:1:COMP_CWORD-2}" "$current")
  elif [[ "$current" == "=" ]]; then
    words=("\${COMP_WORDS[@]:1:COMP_CWORD-1}" "")
    current=""
  fi
  while IFS=$'\\t' read -r value says; do
    if [[ -z "$files" ]]; then files="$value"; else COMPREPLY+=("$value"); fi
  done < <("\${COMP_WORDS[0]}" __complete "\${words[@]}" 2>/dev/null)
  case "$files" in
    all) compopt -o filenames 2>/dev/null
         local IFS=$'\\n'
         COMPREPLY+=($(compgen -f -- "$current")) ;;
    .*) compopt -o filenames 2>/dev/null
        local IFS=$'\\n'
        COMPREPLY+=($(compgen -d -- "$current") $(compgen -f -X "!*$files" -- "$current")) ;;
    command) if declare -F _command_offset >/dev/null; then
          local at; for ((at = 1; at < COMP_CWORD; at++)); do [[ "\${COMP_WORDS[at]}" == "--" ]] && break; done
          _command_offset $((at < COMP_CWORD ? at + 1 : COMP_CWORD))
        else compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -c -f -- "$current")); fi ;;
  esac
}
complete -F _jfluid jfluid
`

const ZSH = `#compdef jfluid
# jfluid completion for zsh: eval "$(jfluid completion zsh)", or as a file _jfluid in $fpath
_jfluid() {
  local -a lines shown
  local files line value
  lines=("\${(@f)$(\${words[1]} __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  files="\${lines[1]}"
  for line in "\${(@)lines[2,-1]}"; do
    [[ -z "$line" ]] && continue
    value="\${line%%$'\\t'*}"
    shown+=("\${value//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( \${#shown} )) && _describe -V jfluid shown
  case "$files" in
    all) _files ;;
    .*) _files -g "*$files" ;;
    command)
      local at=\${words[(i)--]}
      if (( at < CURRENT )); then shift at words; (( CURRENT -= at )); _normal; else _command_names -e; fi ;;
  esac
}
if [[ "\${funcstack[1]}" == _jfluid ]]; then _jfluid "$@"; else compdef _jfluid jfluid; fi
`

const FISH = `# jfluid completion for fish: jfluid completion fish | source
function __jfluid_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] 2>/dev/null)
    set -l current (commandline -ct)
    for line in $lines[2..-1]
        test -n "$line"; and printf '%s\\n' $line
    end
    switch "$lines[1]"
        case all
            __fish_complete_path "$current"
        case '.*'
            __fish_complete_suffix $lines[1]
        case command
            set -l at (contains -i -- -- $words)
            if test -n "$at"
                __fish_complete_subcommand --commandline $words[(math $at + 1)..-1]
            else
                __fish_complete_command
            end
    end
end
complete -c jfluid -f -a '(__jfluid_complete)'
`

export const SCRIPTS: { readonly [shell in Shell]: string } = { bash: BASH, zsh: ZSH, fish: FISH }
