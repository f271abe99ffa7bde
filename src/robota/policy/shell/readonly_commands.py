"""Read-only commands, each with the flags that keep it read-only. This is data: every line is a promise.

In a list of flags, `-x` has no value, `-x=` takes a text (`-x v`, `-xv`, `--long v`, `--long=v`), `-x#` a number, `-x@`
a path, and `--long?` may have a text attached. A flag that is not listed is not considered harmless, because it may
write, run or fetch something. The same goes for abbreviated long flags.
"""

from enum import StrEnum
from typing import Final

import msgspec


class Syntax(StrEnum):
    """Where a program accepts flags.

    Most accept them anywhere before `--`. Others stop at the first operand, after which a flag is an operand or an
    error. `find` takes paths, then an expression, which `--` does not end.
    """

    PERMUTED = "permuted"
    FLAGS_FIRST = "flags first"
    EXPRESSION = "expression"


class Content(StrEnum):
    """When git prints the content of files that are not named."""

    NEVER = "never"
    BY_FLAG = "by flag"
    BY_DEFAULT = "by default"
    ALWAYS = "always"


class Operands(msgspec.Struct, frozen=True, kw_only=True):
    """What the operands are: at most `texts` of them (None: all) are plain text, the rest are paths.

    `first` is a regular expression that the first one must match; `limit` is the maximum number.
    """

    texts: int | None = 0
    first: str | None = None
    limit: int | None = None


class ReadOnlyCommand(msgspec.Struct, frozen=True, kw_only=True):
    """With `counts`, a bare number is a flag, as in `head -5`. With one of `pattern_flags`, all operands are paths.

    A command with `needs_flag` does something else without flags. No word may match the regular expression `never`;
    `values` has one for each flag that is harmless only with certain values. If values are not `attached`, the letters
    after a flag with a value are further flags. A command with `takes_no_directories` would read too much if it got
    one.
    """

    flags: str = ""
    operands: Operands = Operands()
    syntax: Syntax = Syntax.PERMUTED
    counts: bool = False
    needs_flag: bool = False
    pattern_flags: frozenset[str] = frozenset()
    never: str | None = None
    values: dict[str, str] = {}
    attached: bool = True
    takes_no_directories: bool = False
    content: Content = Content.NEVER


PATHS: Final = Operands()
TEXT: Final = Operands(texts=None)
NOTHING: Final = Operands(limit=0)
ONE_PATH: Final = Operands(limit=1)
PATTERN_THEN_PATHS: Final = Operands(texts=1)

_VERSION = ReadOnlyCommand(flags="--version", operands=NOTHING, needs_flag=True)
_CHECKSUM = ReadOnlyCommand(flags="-b -t --tag -z")
# Printing lines by number, or one plain substitution: other sed scripts can write a file or run a command.
_PRINTED_LINES = r"(?:[0-9]+|\$)(?:,(?:\+?[0-9]+|\$))?p"
_REPLACEMENT = r"s([/|,#])(?:(?!\1)[^\\\n])+\1(?:(?!\1)[^\\\n])*\1[gIp0-9]*"
_PRINTED_FIELDS = r"\{ ?print(?: ?\$[0-9]+(?:, ?\$[0-9]+)*)? ?\}"
_NUMBERED_LINES = r"NR ?[<>=]=? ?[0-9]+(?: ?(?:&&|,) ?NR ?[<>=]=? ?[0-9]+)*"
_CONVERSION = r"%[-+ #0]*[0-9]*(?:\.[0-9]+)?[bqsdiouxXeEfgGc]"
# For these, git runs a program that verifies signatures.
_SIGNATURES = r"%[-+ ]?G|(?<!show-)signature"
# A ref may point to a file, and `raw` would print its content.
_SIGNATURES_OR_CONTENT = _SIGNATURES + r"|\braw\b"
# Any other word may be a format from the user's configuration, which may ask for signatures.
_FORMAT = r"(?:oneline|short|medium|full|fuller|reference|email|raw|t?format:.*|.*%.*)"
_FORMATS = {"--format": _FORMAT, "--pretty": _FORMAT}

_GREP = """
    -E -F -G -P -i -v -w -x -c -l -L -o -q -s -b -H -h -n -r -a -I -T -Z -e= -m# -A# -B# -C# --include= --exclude=
    --exclude-dir= --regexp= --max-count# --context# --after-context# --before-context# --color? --extended-regexp
    --fixed-strings --perl-regexp --ignore-case --invert-match --word-regexp --line-regexp --count
    --files-with-matches --files-without-match --only-matching --quiet --no-messages --line-number --with-filename
    --no-filename --recursive --text --binary-files=
"""
_RG = """
    -F -i -S -s -v -w -x -c -l -o -q -H -I -n -N -U -P -p -a -u -. -0 -e= -m# -A# -B# -C# -g= -t= -T= -d# -M# -r= -j#
    --files --files-with-matches --files-without-match --count --count-matches --fixed-strings --ignore-case
    --smart-case --case-sensitive --invert-match --word-regexp --line-regexp --only-matching --line-number
    --no-line-number --multiline --multiline-dotall --pcre2 --hidden --no-ignore --no-ignore-vcs --glob= --iglob=
    --type= --type-not= --type-list --max-depth# --max-count# --max-columns# --context# --after-context#
    --before-context# --regexp= --color= --heading --no-heading --json --stats --sort= --sortr= --trim --vimgrep
    --no-config --no-messages --quiet --with-filename --no-filename --passthru --replace= --column
"""
# The names, including hidden ones, that these rg types match; any other type may match any name.
RG_TYPES: Final = {
    "py": ("*.py", "*.pyi"),
    "js": ("*.js", "*.jsx", "*.cjs", "*.mjs", "*.vue"),
    "ts": ("*.ts", "*.tsx", "*.cts", "*.mts"),
    "rust": ("*.rs",),
    "go": ("*.go",),
    "java": ("*.java", "*.jsp", "*.jspx", "*.properties"),
    "c": ("*.[chH]", "*.in", "*.cats"),
    "cpp": ("*.[chCH]", "*.[ch]pp", "*.[ch]xx", "*.cc", "*.hh", "*.in", "*.inl"),
    "css": ("*.css", "*.scss"),
    "html": ("*.html", "*.htm", "*.ejs"),
    "swift": ("*.swift",),
}
_FIND = """
    -name= -iname= -path= -ipath= -regex= -iregex= -wholename= -type= -maxdepth# -mindepth# -size# -empty -newer@
    -mtime# -mmin# -atime# -amin# -ctime# -cmin# -perm= -user= -group= -not -a -o -and -or -prune -print -print0 -ls
    -depth -xdev -mount -readable -writable -executable -true -false -links# -inum# -regextype= -quit -daystart
"""
_DIFF_FLAGS = """
    -p -u -s -w -b -M? -C? -a -R -z -U? -S= -G= --stat? --shortstat --numstat --dirstat --name-only --name-status
    --summary --patch --no-patch --raw --unified? --color? --no-color --word-diff? --ignore-all-space
    --ignore-space-change --ignore-blank-lines --diff-filter= --find-renames? --find-copies? --minimal --patience
    --histogram --diff-algorithm= --relative? --text --full-index --abbrev? --no-ext-diff --no-textconv --no-renames
    --check --exit-code --quiet --function-context -W --pickaxe-all --pickaxe-regex --compact-summary
    --patch-with-stat --color-words? --no-prefix
"""
_LOG_FLAGS = f"""
    {_DIFF_FLAGS} -n# -i -E -F -g --oneline --graph --all --branches? --tags? --remotes? --decorate? --no-decorate
    --max-count# --skip# --since= --until= --after= --before= --author= --committer= --grep= --format? --pretty?
    --date= --merges --no-merges --first-parent --reverse --follow --no-walk --topo-order --date-order
    --abbrev-commit --no-abbrev-commit --left-right --cherry-pick --cherry-mark --invert-grep --all-match
    --regexp-ignore-case --simplify-by-decoration --full-history --ancestry-path --parents --children --boundary
    --count --no-show-signature --notes --no-notes --walk-reflogs --source
"""

_LOG = ReadOnlyCommand(flags=_LOG_FLAGS, counts=True, never=_SIGNATURES, values=_FORMATS, content=Content.BY_FLAG)
_LISTED_BRANCHES = ReadOnlyCommand(
    flags="-a -r -v -vv --all --remotes --verbose --sort= --no-color", operands=TEXT, never=_SIGNATURES_OR_CONTENT
)
_LISTED_TAGS = ReadOnlyCommand(flags="-n --sort= --no-color --column?", operands=TEXT, never=_SIGNATURES_OR_CONTENT)

GIT: Final[dict[str, ReadOnlyCommand]] = {
    "status": ReadOnlyCommand(
        flags="-s -b -u -z -v --short --branch --long --porcelain? --untracked-files? --ignored? --show-stash "
        "--ahead-behind --no-ahead-behind --renames --no-renames --column? --no-column -uno -uall -unormal",
        content=Content.BY_FLAG,
    ),
    "diff": ReadOnlyCommand(
        flags=_DIFF_FLAGS + "--cached --staged --merge-base", counts=True, content=Content.BY_DEFAULT
    ),
    "log": _LOG,
    "show": msgspec.structs.replace(_LOG, content=Content.BY_DEFAULT),
    "diff-tree": ReadOnlyCommand(
        flags=_DIFF_FLAGS + "-r -t -c -m --cc --root --always --no-commit-id", content=Content.BY_FLAG
    ),
    "reflog": msgspec.structs.replace(_LOG, operands=NOTHING),
    "reflog show": _LOG,
    "blame": ReadOnlyCommand(
        flags="-L= -w -M? -C? -e -l -s -t --date= --porcelain --line-porcelain --show-email --root"
    ),
    "ls-files": ReadOnlyCommand(
        flags="-c -d -m -o -i -s -u -z -t -v -x= --cached --deleted --modified --others --ignored --stage --unmerged "
        "--exclude-standard --exclude= --full-name --error-unmatch --eol"
    ),
    "ls-tree": ReadOnlyCommand(flags="-r -t -d -l -z --name-only --name-status --full-name --full-tree --abbrev?"),
    "grep": ReadOnlyCommand(
        flags="-i -n -l -L -c -o -w -v -h -H -E -F -G -P -a -I -q -e= -A# -B# -C# --cached --count --ignore-case "
        "--line-number --name-only --files-with-matches --word-regexp --max-depth# --untracked --break --heading "
        "--no-recurse-submodules",
        content=Content.ALWAYS,
        operands=PATTERN_THEN_PATHS,
        pattern_flags=frozenset({"-e"}),
    ),
    "rev-parse": ReadOnlyCommand(
        flags="--short? --abbrev-ref? --show-toplevel --verify --quiet -q --git-dir --is-inside-work-tree --symbolic "
        "--symbolic-full-name --show-prefix --show-cdup --is-bare-repository --git-common-dir --all --branches --tags"
    ),
    "rev-list": ReadOnlyCommand(
        flags="--count --all --max-count# -n# --since= --until= --author= --first-parent --merges"
    ),
    "branch": ReadOnlyCommand(
        flags="-a -r -v -vv --all --remotes --verbose --list --show-current --no-color --color? --sort= --format= "
        "--no-abbrev --abbrev? --column?",
        operands=NOTHING,
        never=_SIGNATURES_OR_CONTENT,
    ),
    "branch --list": _LISTED_BRANCHES,
    "branch --merged": _LISTED_BRANCHES,
    "branch --no-merged": _LISTED_BRANCHES,
    "branch --contains": _LISTED_BRANCHES,
    "tag": ReadOnlyCommand(
        flags="-l --list -n --sort= --format= --no-color --column?", operands=NOTHING, never=_SIGNATURES_OR_CONTENT
    ),
    "tag -l": _LISTED_TAGS,
    "tag --list": _LISTED_TAGS,
    "remote": ReadOnlyCommand(flags="-v --verbose", operands=NOTHING),
    "remote get-url": ReadOnlyCommand(flags="--push --all", operands=TEXT),
    "for-each-ref": ReadOnlyCommand(
        flags="--sort= --format= --count# --merged? --no-merged? --contains? --points-at=",
        operands=TEXT,
        never=_SIGNATURES_OR_CONTENT,
    ),
    # With a second argument it sets the value instead of showing it.
    "symbolic-ref": ReadOnlyCommand(flags="-q --quiet --short", operands=Operands(texts=None, limit=1)),
    "name-rev": ReadOnlyCommand(flags="--name-only --tags --always"),
    "cherry": ReadOnlyCommand(flags="-v --verbose"),
    "version": ReadOnlyCommand(flags="--build-options", operands=NOTHING),
    "config": ReadOnlyCommand(
        flags="--get --global --local",
        # What follows the name is the new value, even if it resembles a flag.
        syntax=Syntax.FLAGS_FIRST,
        # Other settings may hold a token.
        operands=Operands(
            texts=None, first=r"user\.(?:name|email)|init\.defaultBranch|core\.[A-Za-z]+|branch\.[^.]+\.\w+", limit=1
        ),
    ),
    "describe": ReadOnlyCommand(flags="--tags --all --always --long --abbrev? --match= --exclude= --contains"),
    "shortlog": ReadOnlyCommand(flags="-s -n -e -c --summary --numbered --email --since= --until= --all --no-merges"),
    "merge-base": ReadOnlyCommand(flags="--all -a --is-ancestor --fork-point --octopus --independent"),
    "cat-file": ReadOnlyCommand(flags="-t -s -e -p", content=Content.BY_FLAG),
    "show-ref": ReadOnlyCommand(
        flags="--head --heads --tags -d --dereference -s --hash? --verify -q --quiet --abbrev?"
    ),
    "stash list": ReadOnlyCommand(flags="--oneline --stat -p", operands=NOTHING, counts=True, content=Content.BY_FLAG),
    "stash show": ReadOnlyCommand(flags=_DIFF_FLAGS, content=Content.BY_FLAG),
    "worktree list": ReadOnlyCommand(flags="--porcelain -v --verbose", operands=NOTHING),
    "count-objects": ReadOnlyCommand(flags="-v -H", operands=NOTHING),
    "check-ignore": ReadOnlyCommand(flags="-v -n -q --verbose --no-index"),
}

COMMANDS: Final[dict[str, ReadOnlyCommand]] = {
    "ls": ReadOnlyCommand(
        flags="-a -A -l -h -R -r -t -S -s -1 -d -F -p -i -n -g -o -G -X -v -U -c -u -H -C -m -x -Q -N -b -B "
        "--all --almost-all --color? --group-directories-first --human-readable --recursive --reverse --sort= --time= "
        "--time-style= --full-time --size --inode --classify? --directory --ignore= --hide= --si"
    ),
    "cat": ReadOnlyCommand(
        flags="-n -b -s -A -E -T -e -t -v --number --number-nonblank --squeeze-blank --show-all --show-ends --show-tabs"
    ),
    "head": ReadOnlyCommand(flags="-n# -c# -q -v -z --lines# --bytes# --quiet --verbose", counts=True),
    "tail": ReadOnlyCommand(flags="-n# -c# -q -v -z --lines# --bytes# --quiet --verbose", counts=True),
    "wc": ReadOnlyCommand(flags="-l -w -c -m -L --lines --words --bytes --chars --max-line-length"),
    "nl": ReadOnlyCommand(flags="-b= -n= -w# -s= -v# -i#"),
    "grep": ReadOnlyCommand(
        flags=_GREP, operands=PATTERN_THEN_PATHS, counts=True, pattern_flags=frozenset({"-e", "--regexp"})
    ),
    "egrep": ReadOnlyCommand(flags=_GREP, operands=PATTERN_THEN_PATHS, pattern_flags=frozenset({"-e", "--regexp"})),
    "fgrep": ReadOnlyCommand(flags=_GREP, operands=PATTERN_THEN_PATHS, pattern_flags=frozenset({"-e", "--regexp"})),
    "rg": ReadOnlyCommand(
        flags=_RG,
        operands=PATTERN_THEN_PATHS,
        pattern_flags=frozenset({"-e", "--regexp", "--files", "--type-list"}),
        # rg reads the value of `-g=x` as `x`, most programs as `=x`.
        never=r"^-[^-=][^=]*=",
    ),
    "find": ReadOnlyCommand(flags=_FIND, syntax=Syntax.EXPRESSION),
    "tree": ReadOnlyCommand(
        flags="-a -d -f -i -s -h -t -r -v -D -F -C -n -Q -N -p -u -g -L# -I= -P= --dirsfirst --noreport --gitignore",
        # `tree -Lo 2 x` writes to x.
        attached=False,
    ),
    "stat": ReadOnlyCommand(flags="-c= -f -L -t --format= --printf= --terse --dereference"),
    "file": ReadOnlyCommand(flags="-b -i -L -h -k -N -r --brief --mime --mime-type --mime-encoding"),
    "du": ReadOnlyCommand(flags="-a -c -h -s -k -m -x -d# --max-depth# --apparent-size --summarize --human-readable"),
    "df": ReadOnlyCommand(flags="-h -k -m -T -i -a -H -P --human-readable --total"),
    "diff": ReadOnlyCommand(
        # Not `-r`, which follows all links; so does comparing two directories without it.
        takes_no_directories=True,
        flags="-u -U# -c -C# -q -s -w -b -B -i -N -y -a -W# --unified? --brief --side-by-side --color? "
        "--ignore-all-space --ignore-space-change --ignore-case --exclude= --strip-trailing-cr --no-dereference",
    ),
    "cmp": ReadOnlyCommand(flags="-b -l -s -n# -i#"),
    "comm": ReadOnlyCommand(flags="-1 -2 -3 --nocheck-order --total"),
    "sort": ReadOnlyCommand(
        flags="-b -d -f -g -h -i -M -n -r -R -V -u -c -C -s -z -k= -t= --numeric-sort --reverse --unique --key= "
        "--field-separator= --human-numeric-sort --version-sort --ignore-case --stable --check"
    ),
    "uniq": ReadOnlyCommand(flags="-c -d -D -i -u -z -f# -s# -w# --count --repeated --unique", operands=NOTHING),
    "cut": ReadOnlyCommand(
        flags="-b= -c= -d= -f= -s -z -n --bytes= --characters= --delimiter= --fields= --only-delimited --complement "
        "--output-delimiter="
    ),
    "tr": ReadOnlyCommand(
        flags="-c -C -d -s -t --complement --delete --squeeze-repeats", operands=TEXT, syntax=Syntax.FLAGS_FIRST
    ),
    # Not `-n`: whether it takes a value depends on the version.
    "column": ReadOnlyCommand(flags="-t -x -s= -c# -o="),
    "fold": ReadOnlyCommand(flags="-b -s -w#"),
    "rev": ReadOnlyCommand(),
    "tac": ReadOnlyCommand(flags="-b -r -s="),
    # A word that starts with @, even a value, is a file of further arguments, which may name any file.
    "strings": ReadOnlyCommand(flags="-a -n# -t=", operands=Operands(first=r"[^@].*", limit=1), never=r"^@"),
    "sed": ReadOnlyCommand(
        flags="-n -E -r --quiet --silent --regexp-extended",
        operands=Operands(texts=1, first=rf"{_PRINTED_LINES}(?:;{_PRINTED_LINES})*|{_REPLACEMENT}"),
    ),
    "awk": ReadOnlyCommand(
        flags="-F=",
        syntax=Syntax.FLAGS_FIRST,
        operands=Operands(texts=1, first=rf"{_PRINTED_FIELDS}|{_NUMBERED_LINES}"),
    ),
    "jq": ReadOnlyCommand(
        flags="-r -c -S -e -s -n -j -a -M -C --raw-output --compact-output --sort-keys --exit-status --slurp "
        "--null-input --monochrome-output --color-output --tab",
        operands=PATTERN_THEN_PATHS,
        # The environment may contain keys, and modules are files. A space may follow the $.
        never=r"\benv\b|\bENV\b|\bimport\b|\binclude\b|\bmodulemeta\b",
    ),
    "paste": ReadOnlyCommand(flags="-d= -s"),
    "od": ReadOnlyCommand(flags="-A= -t= -N# -j# -c -x -v"),
    "hexdump": ReadOnlyCommand(flags="-C -n# -s# -v"),
    "basename": ReadOnlyCommand(flags="-a -s= -z", operands=TEXT, syntax=Syntax.FLAGS_FIRST),
    "dirname": ReadOnlyCommand(flags="-z", operands=TEXT),
    "realpath": ReadOnlyCommand(flags="-e -m -s -z -q --relative-to@"),
    "readlink": ReadOnlyCommand(flags="-f -e -m -n -z"),
    "md5sum": _CHECKSUM,
    "sha1sum": _CHECKSUM,
    "sha256sum": _CHECKSUM,
    "sha512sum": _CHECKSUM,
    "cksum": ReadOnlyCommand(),
    "pwd": ReadOnlyCommand(flags="-L -P", operands=NOTHING),
    "echo": ReadOnlyCommand(flags="-n -e -E", operands=TEXT),
    # `%n` would set a variable, and so change the meaning of the next command.
    "printf": ReadOnlyCommand(
        operands=Operands(texts=None, first=rf"(?:[^%]|%%|{_CONVERSION})*"), syntax=Syntax.FLAGS_FIRST
    ),
    "true": ReadOnlyCommand(operands=TEXT),
    "false": ReadOnlyCommand(operands=TEXT),
    "seq": ReadOnlyCommand(flags="-w -s= -f=", operands=TEXT, syntax=Syntax.FLAGS_FIRST),
    # A time zone can be any file.
    "date": ReadOnlyCommand(
        never="TZ=",
        flags="-u -R -I? --utc --iso-8601? --rfc-3339= -d= --date=",
        operands=Operands(texts=1, first=r"\+.*", limit=1),
    ),
    "cal": ReadOnlyCommand(flags="-3 -y -m", operands=NOTHING),
    "sleep": ReadOnlyCommand(operands=Operands(texts=None, first=r"[0-9.]+[smh]?", limit=1)),
    "whoami": ReadOnlyCommand(operands=NOTHING),
    "hostname": ReadOnlyCommand(operands=NOTHING),
    "lscpu": ReadOnlyCommand(operands=NOTHING),
    "uname": ReadOnlyCommand(flags="-a -s -n -r -v -m -p -i -o", operands=NOTHING),
    "nproc": ReadOnlyCommand(flags="--all", operands=NOTHING),
    "arch": ReadOnlyCommand(operands=NOTHING),
    "uptime": ReadOnlyCommand(flags="-p -s", operands=NOTHING),
    "free": ReadOnlyCommand(flags="-b -k -m -g -h -t", operands=NOTHING),
    "which": ReadOnlyCommand(flags="-a", operands=TEXT, syntax=Syntax.FLAGS_FIRST),
    "type": ReadOnlyCommand(flags="-a -t -p -P", operands=TEXT, syntax=Syntax.FLAGS_FIRST),
    # Not `-v`: bash may evaluate what is inside the brackets of a name.
    "test": ReadOnlyCommand(
        flags="-e -f -d -s -r -w -x -L", operands=ONE_PATH, needs_flag=True, syntax=Syntax.FLAGS_FIRST
    ),
    "cd": ReadOnlyCommand(operands=Operands(first="[^-].*", limit=1), syntax=Syntax.FLAGS_FIRST),
    "python": ReadOnlyCommand(flags="--version -V", operands=NOTHING, needs_flag=True),
    "python3": ReadOnlyCommand(flags="--version -V", operands=NOTHING, needs_flag=True),
    "node": ReadOnlyCommand(flags="--version -v", operands=NOTHING, needs_flag=True),
    "npm": ReadOnlyCommand(flags="--version -v", operands=NOTHING, needs_flag=True),
    **{
        name: _VERSION
        # Not those that read from the project which version of themselves to run.
        for name in "ruby perl gcc g++ clang make cmake docker git gh pip pip3 bash sqlite3 psql ruff uv".split()
    },
}
