"""Tasks that outlast one context: a conversation that is condensed, and work that is given to subtasks."""

from typing import Final

from evals.task import CONDENSED, WORKING, Task, called

CODES: Final = ("amber", "basalt", "cobalt", "damson", "ember", "fennel")
FILLING: Final = "The quick brown fox jumps over the lazy dog, and nothing is to be learned from it.\n" * 200
CHAPTERS: Final = {
    f"chapters/{number}.txt": f"{FILLING}The code of chapter {number} is {code}.\n{FILLING}"
    for number, code in enumerate(CODES, start=1)
}

TASKS: Final = (
    Task(
        name="condensation-midway",
        files=CHAPTERS,
        prompt="Read chapters/1.txt to chapters/6.txt completely with read_file, one after the other. Each names its "
        "code in one line. Then write the six codes to codes.txt, one a line, in the order of the chapters.",
        acceptance=f"test \"$(tr '\\n' ' ' < codes.txt | sed 's/ *$//')\" = '{' '.join(CODES)}'",
        # Six chapters are 55,000 tokens: enough for a context window of up to 500,000. For a model with a larger one,
        # set `contextWindow` in the options of its provider profile.
        launch=(*WORKING, "--settings", '{"autoCompactThreshold": 0.1}'),
        checks=(CONDENSED,),
    ),
    Task(
        name="subtask",
        files={"a.txt": "one\n" * 37, "b.txt": "two\n" * 58},
        prompt="Let one subtask count the lines of a.txt and another those of b.txt, and write the sum to sum.txt.",
        acceptance='test "$(tr -d "[:space:]" < sum.txt)" = 95 && git diff --quiet HEAD',
        checks=(called("new_task"),),
    ),
)
