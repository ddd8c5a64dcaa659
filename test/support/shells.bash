# What an interactive bash runs before it is asked. After ^Xa or ^Xt has completed a line, ^Xd gives it as an answer.
PS1= PS2=
source "$SCRIPT" 2>&4
registered=$(complete -p svc)
completing=${registered#*-F }
completing=${completing%% *}
reported() { "$completing" "$@" 2>&4; }
eval "${registered/-F $completing/-F reported}"

# bash 3.2 splits COMP_WORDS at spaces only and has no compopt; $OLD asks for that.
if [[ -n $OLD ]]; then
  enable -n compopt
  reported() {
    local rest=${COMP_LINE:0:COMP_POINT} word='^((\\.|"[^"]*"|[^ "\\])+) +'
    COMP_WORDS=()
    while [[ $rest =~ $word ]]; do
      COMP_WORDS+=("${BASH_REMATCH[1]}")
      rest=${rest:${#BASH_REMATCH[0]}}
    done
    COMP_CWORD=${#COMP_WORDS[@]}
    COMP_WORDS+=("$rest")
    "$completing" "$@" 2>&4
  }
fi

answer() {
  local line=$READLINE_LINE
  READLINE_LINE= READLINE_POINT=0
  # An open quote is no answer: the words of such a line are not needed.
  eval "set -- $line" 2>/dev/null
  printf '%s\0' "$line" "$@" '' >&3
}
bind 'set bell-style none'
bind 'set enable-bracketed-paste off' 2>/dev/null
bind '"\C-xa": insert-completions'
bind '"\C-xt": complete'
bind -x '"\C-xd": answer'
