"""Words from which commands are made up: data, the same for every run. Between two bars stands one word or several."""

import re
from typing import Final


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.split(r"\s+\|\s+", text.strip()))


# Stands for a pattern that the shell itself replaces; every other word is quoted.
GLOBS: Final = frozenset({"*", "*.txt", "s*", ".e*", "src/*", "src/.*", "link-*", "[ab].txt", "-*", "?", "--out*"})
NAMES: Final = _words(
    """
    a.txt | b.txt | src | . | src/c.py | data.json | 5 | %n | list.txt | ./-n | link-in | data.zip | -n |
    -exec | --output=made | - | missing | docs | docs/config | @list | src/.. | .env | src/.env | key.pem |
    secret.txt | ignored/k.txt | ignored | src/link-secret | link-out | link-dir | link-dir/more.txt |
    link-nowhere | link-dir/.. | src/../link-out | {outside}/secret.txt | {outside} | ../workspace/a.txt |
    ~/.gitconfig | ~/.ssh/id_rsa | /etc/hostname
    """
)
FILES: Final = (*NAMES, *sorted(GLOBS))
REVISIONS: Final = _words(
    """
    HEAD | HEAD~1 | HEAD~1..HEAD | other...main | main | v1 | @ | stash@{0} | signed | theirs | linked |
    HEAD:secret.txt | HEAD:.env | :secret.txt | HEAD:a.txt | HEAD:src | HEAD^{tree} | HEAD~3 | HEAD~2..HEAD |
    :/first | HEAD^{/first} | missing | --all | ^HEAD~1 | refs/heads/main | main@{1} | main@{upstream} |
    :(top)secret.txt | :!a.txt | :(glob)**/*.txt | :(icase)SECRET.TXT | :/ | :(attr:diff=picture) | part |
    gone | core.pager | user.name | core.hooksPath | origin | blob | refs/heads
    """
)
PLAIN_VALUES: Final = _words(
    """
    1 | x | 0 | a,b | -n | -1 | -- | - | --output=made | -o | made | .env | secret.txt | %G? | %s |
    {outside}/secret.txt | link-out | @list | *.txt | HEAD | diff | log | always | auto | never | bytes
    """
)
VALUES: Final = ("", *PLAIN_VALUES)
# What the first operand is where it is no file.
FIRST: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg", "git grep"), ("o", ".", "-e", "words", "")),
    "sed": ("1,2p", "s/o/x/", "$p", "1p;2p", "s/o/x/w", "w made", "1e", "s/x/y/e", "r .env", "1r link-out", "s|o|x|g"),
    "awk": ("{print}", "{ print $1, $2 }", "NR==1", "NR>1 && NR<3", 'BEGIN{system("id")}', '{print > "made"}'),
    "jq": (".", ".a", "input_filename", "$__prog_args", "$ENV", "env", "input", 'include "list"; .', "getpath([])"),
    "printf": ("%s", "%d %s", "x", "%n", "%b", "%q"),
    "tr": ("a-z", "[:upper:]", "a"),
    "date": ("+%s", "+%F %T", "01010000"),
    "sleep": ("0", "0.01"),
    "seq": ("1", "3"),
    "basename": ("a/b.txt",),
    "dirname": ("a/b.txt",),
    "git config": ("user.name", "core.pager", "core.hooksPath", "core.fsmonitor", "branch.main.remote"),
    "git symbolic-ref": ("HEAD", "refs/heads/main"),
    "git cat-file": ("HEAD", "HEAD:secret.txt", "HEAD:.env", "blob", "theirs:theirs.txt"),
    "git remote get-url": ("origin",),
    "cd": ("src", "docs", "link-dir"),
    "which": ("ls", "git"),
    "type": ("ls", "cd"),
}
# Words that make a program do more than look, and words that have been taken for something else; some are several.
MORE: Final[dict[str, tuple[str, ...]]] = {
    "find": _words(
        """
        -exec touch made ; | -execdir touch made ; | -ok touch made ; | -delete | -fls made | -fprint made |
        -fprint0 made | -fprintf made %p | -files0-from list.txt | -L | -H | -P | -follow | -O3 | -D tree |
        ( -name a.txt ) | ! -name x | -newermt 2020-01-01 | -newerXY a.txt | -samefile link-out | -noleaf |
        -- | -O | -printf %p | -context x | -xtype f | -fstype ext4 | -lname x | ,
        """
    ),
    "sort": _words(
        """
        -o made | -omade | --output=made | --outp=made | -T . | --compress-program=touch | -S 1 | -uo made |
        --files0-from=list.txt | --files0-from list.txt | -m | --random-source=link-out | --parallel=2 |
        -t -o
        """
    ),
    "grep": _words(
        """
        -f link-out | -flink-out | --file=link-out | --exclude-from=link-out | -R | -S | -d recurse | -D read |
        --dereference-recursive | --directories=recurse | --devices=skip | -rh | -rf | -ef | --colo | --inc x
        """
    ),
    "rg": _words(
        """
        -f link-out | --pre touch | --pre=touch | -z | --search-zip | --ignore-file link-out | -L | --follow |
        --hostname-bin touch | --hyperlink-format x | --debug | --no-config | -uuu | --pre-glob x | -uu |
        -tall
        """
    ),
    "tree": _words(
        """
        -o made | --output made | -R | -l | -H x | --fromfile | --info | --gitfile=link-out | -Lo 2 | -oL 2 |
        --infofile=link-out | --fromtabfile | -X | -J | -L2 | -aL 1 -o made
        """
    ),
    "file": _words(
        """
        -f link-out | -flink-out | --files-from=link-out | -m link-out | --magic-file link-out | -C | -z | -Z |
        --compile | -s | --uncompress | -P name=1 | -S | -p | -d | -mime
        """
    ),
    "date": _words(
        """
        -s 2020-01-01 | --set=2020-01-01 | -f link-out | --file=link-out | -r link-out | --reference=link-out
        """
    ),
    "wc": _words("--files0-from=list.txt | --files0-from list.txt | --total=always"),
    "du": _words("--files0-from=list.txt | -X link-out | --exclude-from=link-out | -L | -D | -l"),
    "diff": _words(
        """
        -r | --recursive | --from-file=link-out | --to-file link-out | -X link-out | -l | --paginate | -S x |
        --exclude-from=link-out | --line-format=x | -x a | -D x | -F x | -I x | -L x | --label x | -ur
        """
    ),
    "unzip": _words("-p | -o | -d made | -x a | -Z | -lo | -ld | -l -o | -v | -c | -l -p"),
    "column": _words(
        """
        -n -s | -J -n x -N a | -t -n -s {outside}/secret.txt | -n x | --table-name x | -c 80 | -s, -t | -e |
        -t -n link-out -s x | -ns {outside}/secret.txt | -xn x {outside}/secret.txt | -o -n link-out
        """
    ),
    "hexdump": _words("-f link-out | -e x | --format-file link-out | --canonical | -L | -Cf link-out"),
    "od": _words(
        """
        -S 1 | -w | --width | +1 | --skip-bytes=1 | -An | --traditional link-out 0 | -s | -a | --endian=big
        """
    ),
    "jq": _words(
        """
        -f link-out | --from-file link-out | -L . | --slurpfile a link-out | --rawfile a link-out | --args |
        --jsonargs | --arg a b | --argfile a link-out | --seq | -nr | --stream | -rf | --indent 1 |
        -fr link-out
        """
    ),
    "sed": _words(
        """
        -i | -n -i | -ni | -s | --in-place | -f link-out | -e p | -z | --debug | -E -f link-out | -u | -l 5 |
        --expression=p | -nEi | --sandbox | -nf link-out
        """
    ),
    "awk": _words(
        """
        -f link-out | -v a=b | -W exec link-out | -Wdump | -i inplace | -F: -f link-out | -- | -Ff | -F |
        -e x
        """
    ),
    "strings": _words(
        """
        -f | @list | -T binary | --target=x | -d | -e l | --bytes=4 | -n@list | -w | -n 4 @list | -o
        """
    ),
    "readlink": _words("-v | --canonicalize | -s"),
    "realpath": _words("--relative-base=/ | -L | -P | --relative-to link-out"),
    "md5sum": _words("-c list.txt | --check | --ignore-missing | -w"),
    "sha256sum": _words("-c list.txt | --check list.txt"),
    "cksum": _words("-a md5 | --check | -c list.txt | --untagged | --debug"),
    "cat": _words("-u | --help | --version | -vet"),
    "head": _words("-5q | -1c | -n-1 | --lines=-1 | -2v | -c1k | -n | -5 -n 1 | -qn | --line 1"),
    "tail": _words(
        """
        -f | -F | --follow=name | --pid=1 | -n+1 | +1 | -1f | -5c | -qf | --retry | -s 1 | -n1f
        """
    ),
    "uniq": _words("a.txt made | - | - made | +1 | -1 | -c a.txt made | --skip-fields=1"),
    "nl": _words("-ba | -p | -d x | -f n | -h n | -l 1 | --body-numbering=a"),
    "ls": _words(
        """
        -D | --dired | --zero | -I x | -L | -lZ | --hyperlink | -w1 | -T0 | --dereference | --quoting-style=c
        """
    ),
    "stat": _words("--cached=always | -Z | --file-system | -c%n | --printf=%n | -f -c %n"),
    "test": _words(
        """
        -v a | -e a.txt -o -e b.txt | a = b | -f a.txt -a -v x | ! -e a.txt | -e | -N a.txt | -t 1
        """
    ),
    "printf": _words("-v PATH x | -- %s x | -vPATH x | %s%n x PATH"),
    "hostname": _words("-F a.txt | -f | new | -i | -b | -I | --file a.txt"),
    "uptime": _words("-p | -h"),
    "xxd": _words("-r a.txt made"),
    "cal": _words("-3 | 2024"),
    "sleep": _words("infinity x"),
    "cut": _words("-f1 -d | -d -f1 | --delimiter : -f 1 | -f 1 --output-delimiter | -c1-"),
    "paste": _words("-d | -sd, | --delimiters=, | --serial"),
    "tac": _words("-s -r | --separator=x | -rs x"),
    "comm": _words("-12 | --output-delimiter=x | --zero-terminated | -z"),
    "cmp": _words("-n 1 -i 1 | a.txt b.txt 1 | --bytes=1 | -i 1:1 | a.txt b.txt link-out"),
    "fold": _words("-5 | -sw | --width=5"),
}
GIT_MORE: Final = _words(
    """
    --output=made | --output made | --outp=made | --ext-diff | --textconv | --show-signature | -O | -Otouch |
    --open-files-in-pager=touch | --no-index a.txt link-out | --submodule=diff | --submodule=log |
    --submodule | --recurse-submodules | --ignore-submodules=none | --format=%G? | --format=%+G? |
    --format=%-GS | --pretty=verified | --pretty=format:%+GG | --format=% GK | --format=%w(9)%+G? |
    --pretty=%+G? | --format verified | --pretty=fuller | -p -- | -p secret.txt | -p -- secret.txt |
    -p HEAD -- :/ | --exec=touch | --contents link-out | -S a | --ignore-revs-file link-out | -f link-out |
    --file=link-out | -X link-out | --exclude-from=link-out | --stdin | --exclude-per-directory=x |
    --textconv-x | --git-dir={outside}/repository/.git | --filters | --batch | -c | --unset user.name |
    --edit | --add user.name x | --replace-all | --local | --global | --get | --system | --get-all user.name |
    core.hooksPath --local | core.hooksPath x | core.pager --get | --get-regexp . | --list | --cc | -c HEAD |
    -m -p | --stat -- | --dirty | --dirty=x | --broken | --follow a.txt | -L1,1:a.txt | -L :a:b |
    -L /a/,+1:secret.txt | -d | -D x | -m x | -f x | --delete x | x | x y | --expire=now --all | expire |
    drop | --anchored=x | --ws-error-highlight=all | --word-diff-regex=. | --color-moved | -O list.txt |
    -Olink-out | --orderfile=x | --skip-to=x | --rotate-to=x | --relative=src | --inter-hunk-context=1 |
    --line-prefix=x | --patch-with-raw | --indent-heuristic | --find-object=HEAD | --diff-merges=on |
    --remerge-diff | --no-notes | --notes=x | --show-notes | --use-mailmap | --mailmap | --decorate-refs=x |
    --source -- | --bisect | --reflog | --sort=signature | --format=%(signature) | --format=%(*signature) |
    --format=%(contents) | --format=%(raw) | --sort=-%G | --edit-description | --set-upstream-to=x | -u x |
    --unset-upstream |
    --track x | -t x | -C x y | -c x y
    """
)
# Ahead of the sub-command.
GIT_BEFORE: Final = _words(
    """
    --no-pager | -P | -C src | -C docs | -C . | -c core.pager=touch | --git-dir=.git | --git-dir=docs |
    --work-tree=. | --exec-path=. | --paginate | -p | --bare | --no-optional-locks | --literal-pathspecs
    """
)
# Commands that look and are asked about: no description names them, or only with other options.
LOOKING: Final = _words(
    """
    git status | git diff | git log | git show HEAD | git blame a.txt | git grep o | git branch |
    git stash list | git whatchanged | git range-diff HEAD~1 HEAD | git show-branch | git fsck |
    git annotate a.txt | git var -l | git diff-files | git diff-index HEAD | git verify-commit signed |
    git ls-remote . | git log --full-diff | git diff --inter-hunk-context=1 | git rev-list --objects HEAD |
    git request-pull HEAD . main | git merge-tree HEAD other | git patch-id | git cat-file --batch-check |
    git name-rev --all | git replace -l | xxd a.txt | base64 a.txt | zcat data.zip | zgrep o a.txt |
    less a.txt | more a.txt | ps | id | expand a.txt | pr a.txt | join a.txt b.txt | tsort a.txt | shuf a.txt |
    fmt a.txt | numfmt 1 | sdiff a.txt b.txt | env | diff3 a.txt b.txt a.txt | nm data.zip |
    objdump -h data.zip | readelf -h data.zip | size data.zip | look o a.txt | b2sum a.txt | sha224sum a.txt |
    sum a.txt | groups | tty | lsblk | getent passwd | sort --debug a.txt | find . -printf %p |
    grep -f a.txt b.txt | rg --debug o | tree -J | file -z a.txt | tail --retry a.txt | ls --zero |
    cut --help | tar -tf data.zip | zipinfo data.zip | tput cols
    """
)
# Options by which programs that look are known to write or run something.
DANGEROUS: Final = _words(
    """
    -o made | -omade | --output=made | --output made | --outfile=made | -r a.txt made | a.txt made | -w made |
    --exec=touch | -e touch | -x touch | -c touch | -C made | --upload-pack=touch | --pager=touch | -P touch |
    -O touch | --lost-found | --output-directory made | -S touch | --diff-program=touch | +!touch made |
    -d made | --ext-diff | --textconv | --open-files-in-pager=touch | -D x | -m x | --write-object |
    --write-tree | -k | ext::touch | --stdin | -f | --list | -l | -h | -v | --all | -p | -a | -i | -- | -s |
    -t | -q
    """
)
