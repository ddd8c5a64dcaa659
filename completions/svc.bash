# bash completion for svc (bash 3.2 or later): svc __complete offers words, and says whether files fit.
_svc() {
  local IFS=$' \t\n' rest=${COMP_LINE:0:COMP_POINT} piece at
  local -a given=()
  COMPREPLY=()
  # bash also breaks words at "=", ":" and "@": pieces without a space between them are one word.
  for ((at = 0; at <= COMP_CWORD; at++)); do
    if ((at == 0)) || [[ $rest == [[:space:]]* ]]; then
      rest=${rest#"${rest%%[![:space:]]*}"}
      given[${#given[@]}]=""
    fi
    piece=${COMP_WORDS[at]}
    if ((at == COMP_CWORD)); then piece=$rest; fi
    given[${#given[@]}-1]+=$piece
    rest=${rest#"$piece"}
  done
  local word=${given[${#given[@]}-1]} quote="" lead="" kind="" start="" offer summary
  if [[ $word == [\"\']* ]]; then
    quote=${word:0:1}
    word=${word:1}
    given[${#given[@]}-1]=$word
  fi
  # readline replaces only the last piece of a word and keeps the pieces before it.
  if [[ $word == *"${2-$word}" ]]; then lead=${word%"${2-$word}"}; fi
  while IFS=$'\t' read -r offer summary; do
    if [[ -z $kind ]]; then
      kind=$offer start=$summary
    elif [[ $offer == "$word"* ]]; then
      COMPREPLY+=("${offer#"$lead"}")
    fi
  done <<<"$(command svc __complete "${given[@]:1}" 2>/dev/null)"
  case $kind in
    paths) _svc_files "$start" ;;
    references) _svc_files "$start@" ;;
  esac
}
# Offers files, each after the given text.
_svc_files() {
  local file native="" path=${word#"$start"}
  # Without -o filenames, readline does not quote files, so they are quoted here.
  if [[ $1 != *@ ]] && compopt -o filenames 2>/dev/null; then native=1; fi
  while IFS= read -r file; do
    if [[ -z $file ]]; then continue; fi
    if [[ -z $native ]]; then
      if [[ -d ${file/#\~/${HOME-}} ]]; then file="$file/"; fi
      case "$quote$file" in
        [\"\']*) ;;
        "~/"*) printf -v file '~/%q' "${file:2}" ;;
        *) printf -v file %q "$file" ;;
      esac
    fi
    file=$1$file
    COMPREPLY+=("${file#"$lead"}")
  done <<<"$(compgen -f -- "${path#"${1#"$start"}"}")"
  if [[ -z $native && ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _svc svc
