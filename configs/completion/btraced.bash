# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Completion for bash: commands, options and virtual boards as the program's own help has them.

_btraced_help() {
    "${COMP_WORDS[0]}" "$@" --help 2>/dev/null
}

_btraced() {
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local words=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="help $(_btraced_help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')"
    elif [ "$command" = help ]; then
        words=$(_btraced_help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
    elif [[ $cur == -* ]]; then
        words=$(_btraced_help "$command" | grep -oE -- '--[a-z-]+' | sort -u)
    elif [[ $before == -c ]]; then
        words=$(_btraced_help serve | grep -oE 'virtual-[a-z0-9-]+' | sort -u)
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    [[ $COMP_CWORD -eq 1 || $cur == -* ]] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
}
complete -o filenames -F _btraced btraced
