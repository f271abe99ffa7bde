// A client written with the official SDK for TypeScript, which checks every message that it gets.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [program, cwd] = process.argv.slice(2);
const agent = spawn(program, ["acp"], { stdio: ["pipe", "pipe", "inherit"] });
const seen = [];
const app = client({ name: "strict client" })
  .onNotification(methods.client.session.update, ({ params }) => {
    seen.push(params.update.sessionUpdate);
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    seen.push("request_permission");
    const option = params.options.find((each) => each.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const result = await app.connectWith(stream, async (connection) => {
  const ask = (method, params) => connection.request(method, params);
  await ask(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await ask(methods.agent.session.new, { cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: "go" }];
  const { stopReason } = await ask(methods.agent.session.prompt, { sessionId, prompt });
  await ask(methods.agent.session.setMode, { sessionId, modeId: "plan" });
  const { sessions } = await ask(methods.agent.session.list, { cwd });
  return { stopReason, listed: sessions.length };
});
agent.stdin.end();
const code = await new Promise((ended) => agent.on("exit", ended));
console.log(JSON.stringify({ ...result, seen, code }));
