"""Expands the mentions of a prompt with the built-in tools of a session."""

from functools import partial

from robota.contracts.knowledge import CallTool, MentionedText
from robota.contracts.workspace import Files
from robota.knowledge.mentions.expansion import MAX_CHARACTERS, MentionExpander, MentionTools
from robota.knowledge.mentions.lookup import path_kind
from robota.knowledge.mentions.sources import MentionSession, MentionSources
from robota.tools.files import list_files, read_file
from robota.tools.registry import SHELL_TOOL
from robota.tools.web import web_fetch


async def expand_mentions(session: MentionSession, prompt: str, files: Files, call: CallTool) -> MentionedText:
    """The text and images to add to a prompt for its mentions."""
    tools = MentionTools(
        read_file=read_file.TOOL.name,
        list_files=list_files.TOOL.name,
        shell=SHELL_TOOL,
        web_fetch=web_fetch.TOOL.name,
        resource=session.resource_tool,
    )
    # A token has about four characters, so this is at most half of the context window.
    characters = min(MAX_CHARACTERS, 2 * session.context_window)
    sources = MentionSources(session, files, SHELL_TOOL)
    return await MentionExpander(tools, sources, partial(path_kind, files), call, characters).expand(prompt)
