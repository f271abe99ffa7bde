// Runs many sessions with the official SDK for TypeScript, which checks every message, and records what the agent writes.
import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { PassThrough, Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [program, cwd, record, count] = process.argv.slice(2);
const agent = spawn(program, ["acp"], { stdio: ["pipe", "pipe", "inherit"] });
const lines = new PassThrough();
agent.stdout.pipe(createWriteStream(record));
agent.stdout.pipe(lines);
const kinds = ["allow_once", "allow_always", "reject_once"];
let asked = 0;
const cancelled = new Set();
const app = client({ name: "strict client" })
  .onNotification(methods.client.session.update, () => {})
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    asked += 1;
    if (cancelled.has(params.sessionId)) return { outcome: { outcome: "cancelled" } };
    const option = params.options.find((each) => each.kind === kinds[asked % 3]) ?? params.options[0];
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onRequest(methods.client.elicitation.create, () => ({ action: "accept", content: { choice: "red" } }));
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(lines));
const reasons = {};
await app.connectWith(stream, async (connection) => {
  const ask = (method, params) => connection.request(method, params);
  const clientCapabilities = { elicitation: { form: {} } };
  await ask(methods.agent.initialize, { protocolVersion: 1, clientCapabilities });
  for (let number = 0; number < Number(count); number += 1) {
    const { sessionId } = await ask(methods.agent.session.new, { cwd, mcpServers: [] });
    const turn = ask(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: `task-${number}.` }] });
    if (number % 10 === 9) {
      cancelled.add(sessionId);
      await connection.notify(methods.agent.session.cancel, { sessionId });
    }
    const reason = await turn.then(({ stopReason }) => stopReason, (error) => `error ${error.code}`);
    reasons[reason] = (reasons[reason] ?? 0) + 1;
    if (number % 7 === 0) await ask(methods.agent.session.setMode, { sessionId, modeId: "plan" });
    await ask(methods.agent.session.close, { sessionId });
    if (number % 20 === 0) await ask(methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
  }
  await ask(methods.agent.session.list, { cwd });
});
agent.stdin.end();
const code = await new Promise((ended) => agent.on("exit", ended));
console.log(JSON.stringify({ reasons, asked, code }));
