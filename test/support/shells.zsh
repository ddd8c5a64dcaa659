# What an interactive zsh runs to answer all of $ASKED, a line each: every line with all offers put in, then as TAB
# leaves it. $LOADED is the script to source, or the directory in $fpath where it stands as _svc.
setopt no_beep
autoload -Uz compinit
if [[ -d $LOADED ]]; then fpath=($LOADED $fpath); fi
compinit -D -u
if [[ -f $LOADED ]]; then source $LOADED; fi

put_all_in() {
  compstate[insert]=all
  compstate[list]=
}
all_offers() {
  local -a comppostfuncs=(put_all_in)
  _main_complete "$@"
}
zle -C all-offers complete-word all_offers
zle -C tab complete-word _main_complete

answer() {
  print -rN -- "$BUFFER" "${(@Q)${(z)BUFFER}}" '' >&3
}
zle-line-init() {
  local asked key
  for asked in "${(@f)ASKED}"; do
    for key in all-offers tab; do
      BUFFER=$asked CURSOR=$#asked
      zle $key
      answer
    done
  done
  exit
}
zle -N zle-line-init
