// One feature after the other of Claude's Agent SDK for TypeScript, each in a session of its own.
import { readFileSync } from "node:fs";
import { InMemorySessionStore, query } from "@anthropic-ai/claude-agent-sdk";

const [program, cwd] = process.argv.slice(2);
const options = { pathToClaudeCodeExecutable: program, cwd };
const line = (text, more) => ({ type: "user", message: { role: "user", content: text }, parent_tool_use_id: null, ...more });
const seen = {};

async function run(prompt, more, during = async () => {}) {
  const messages = [];
  const session = query({ prompt, options: { ...options, ...more } });
  for await (const message of session) {
    messages.push(message);
    await during(message, session);
  }
  return messages;
}
const result = (messages) => messages.findLast((each) => each.type === "result");
const replies = (messages) => messages.filter((each) => each.type === "assistant");

const agents = { reviewer: { description: "Reviews.", prompt: "You review.", tools: ["Read"] } };
const reviewed = await run("use the reviewer", { agents }, async (message, session) => {
  if (message.type === "system" && message.subtype === "init") {
    seen.agents = (await session.supportedAgents()).map((each) => each.name);
  }
});
seen.callers = replies(reviewed).map((each) => each.parent_tool_use_id !== null);

const schema = { type: "object", properties: { count: { type: "integer" } }, required: ["count"] };
seen.count = result(await run("count the files", { outputFormat: { type: "json_schema", schema } })).structured_output;

const one = await run("say one", {});
const at = replies(one)[0];
seen.resumed = result(await run("say more", { resume: at.session_id })).result;
seen.forked = result(await run("say again", { resume: at.session_id, forkSession: true, resumeSessionAt: at.uuid })).session_id !== at.session_id;

let begun;
const runs = new Promise((resolve) => (begun = resolve));
async function* interrupted() {
  yield line("sleep long");
  await runs;
  yield line("go on", { uuid: "00000000-0000-4000-8000-000000000001" });
}
const hooks = { PreToolUse: [{ hooks: [async () => (begun(), {})] }] };
let stopped = false;
seen.interrupted = (
  await run(interrupted(), { hooks, allowedTools: ["Bash"] }, async (message, session) => {
    if (message.type === "assistant" && !stopped) {
      stopped = true;
      runs.then(() => session.interrupt());
    }
  })
).filter((each) => each.type === "result").map((each) => each.subtype);

let release;
const firstDone = new Promise((resolve) => (release = resolve));
async function* changes() {
  yield line("write one", { uuid: "00000000-0000-4000-8000-000000000002" });
  await firstDone;
}
await run(changes(), { permissionMode: "acceptEdits", enableFileCheckpointing: true }, async (message, session) => {
  if (message.type !== "result") return;
  seen.rewound = await session.rewindFiles("00000000-0000-4000-8000-000000000002", { dryRun: true });
  release();
});
seen.kept = readFileSync(`${cwd}/one.txt`, "utf8");

seen.tools = (await run("say one", { tools: ["Read"] })).find((each) => each.subtype === "init").tools;
const store = new InMemorySessionStore();
seen.stored = (await run("say one", { sessionStore: store })).some((each) => each.subtype === "mirror_error");
console.log(JSON.stringify(seen));
