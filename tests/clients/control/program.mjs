// A program written with Claude's Agent SDK for TypeScript: callbacks, hooks, a tool of its own, several prompts.
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const [program, cwd] = process.argv.slice(2);
const seen = { asked: [], hooks: [], types: [], results: [], told: [] };
const greeter = createSdkMcpServer({
  name: "greeter",
  tools: [
    tool("greet", "Greet somebody.", { name: z.string() }, async ({ name }) => ({
      content: [{ type: "text", text: `Hello ${name}` }],
    })),
  ],
});
let settingsAreChanged;
const afterSettings = new Promise((resolve) => (settingsAreChanged = resolve));
const prompt = (text) => ({ type: "user", message: { role: "user", content: text }, parent_tool_use_id: null });
async function* prompts() {
  yield prompt("first");
  await afterSettings;
  yield prompt("second");
}
const session = query({
  prompt: prompts(),
  options: {
    pathToClaudeCodeExecutable: program,
    cwd,
    mcpServers: { greeter },
    systemPrompt: "Be brief.",
    includePartialMessages: true,
    canUseTool: async (name, input) => {
      seen.asked.push(name);
      return name === "Bash" ? { behavior: "deny", message: "no shell" } : { behavior: "allow", updatedInput: input };
    },
    hooks: {
      PreToolUse: [{ hooks: [async (input) => (seen.hooks.push(input.tool_name), {})] }],
    },
  },
});
let told = false;
for await (const message of session) {
  seen.types.push(message.type);
  if (message.type === "system" && message.subtype === "init" && !told) {
    told = true;
    seen.commands = (await session.supportedCommands()).length;
    seen.models = (await session.supportedModels()).map((each) => each.value);
    seen.servers = (await session.mcpServerStatus()).map((each) => `${each.name} ${each.status}`);
    await session.setPermissionMode("default");
    await session.setMaxThinkingTokens(8000);
    settingsAreChanged();
  }
  if (message.type === "system" && message.subtype === "informational") seen.told.push(message.content);
  if (message.type === "result") seen.results.push([message.subtype, message.result]);
}
console.log(JSON.stringify(seen));
