# fish completion for svc (fish 3.1 or later): svc __complete offers words, and says whether files fit.
function __svc_complete
    set -l given (commandline -opc)
    set -l word (commandline -ct | string replace -r '^["\']' '')
    set -l lines (command svc __complete $given[2..] "$word" 2>/dev/null)
    set -l kind (string split \t -- $lines[1])
    string join \n -- $lines[2..]
    if contains -- "$kind[1]" paths references
        test $kind[1] = references; and set kind[2] "$kind[2]@"
        # An unknown command takes files.
        set -l path (string sub -s (math 1 + (string length -- "$kind[2]")) -- "$word")
        complete -C "__svc_none $path" | string replace -r '^' -- "$kind[2]"
    end
end
complete -c svc -f -a '(__svc_complete)'
