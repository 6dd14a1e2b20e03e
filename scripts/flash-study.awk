# Puts more operations at the end of a workload in the .ops form: every file that is left, directory by directory, is written over
# in place (-v how=overwritten), or cut to nothing and written anew (-v how=rewritten), and forced to the device. That is what
# defragmenting by writing in order does, with the old addresses and with new ones.
#
# usage: awk -v how=overwritten -f scripts/flash-study.awk WORKLOAD.ops

{ print }
# The time of an operation stands before it.
/^@/ { sub(/^@[^ ]+ /, "") }
$1 == "create" { dir[$2] = $3; size[$2] = $4; order[++made] = $2 }
$1 == "append" { size[$2] += $3 }
$1 == "write" && $3 + $4 > size[$2] { size[$2] = $3 + $4 }
$1 == "rewrite" || $1 == "truncate" { size[$2] = $3 }
$1 == "delete" { delete dir[$2] }
$1 == "rename" { dir[$2] = $3; if ($4 ~ /^[0-9]+$/) delete dir[$4] }
END {
    for (i = 1; i <= made; i++) {
        file = order[i]
        if (file in dir && size[file] > 0 && !(file in seen)) {
            seen[file] = 1
            printf "%012d %012d %s\n", dir[file], file, size[file] > "files.tmp"
        }
    }
    close("files.tmp")
    while (("sort files.tmp" | getline line) > 0) {
        split(line, part, " ")
        if (how == "overwritten")
            print "overwrite " (part[2] + 0)
        else
            print "rewrite " (part[2] + 0) " " part[3]
        print "fsync " (part[2] + 0)
    }
    close("sort files.tmp")
    system("rm files.tmp")
    print "day 99"
}
