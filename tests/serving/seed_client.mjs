// A client written from the two documents about clients alone: it knows nothing of Robota and imports nothing of it.
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { appendFileSync } from "node:fs"

const [program, linesFile, ...args] = process.argv.slice(2)
const idleAsks = ["completion_result", "api_req_failed", "resume_completed_task", "mistake_limit_reached", "auto_approval_max_req_reached"]
const interactiveAsks = ["followup", "command", "tool", "browser_action_launch", "use_mcp_server"]

function detectAgentState(messages) {
	const last = messages.at(-1)
	if (!last) return "no_task"
	if (last.partial === true) return "streaming"
	if (last.type === "ask" && last.ask) {
		if (idleAsks.includes(last.ask)) return "idle"
		if (last.ask === "resume_task") return "resumable"
		if (interactiveAsks.includes(last.ask)) return "waiting_for_input"
		if (last.ask === "command_output") return "running"
	}
	const request = messages.findLast((m) => m.say === "api_req_started")
	if (request?.text && JSON.parse(request.text).cost === undefined) return "streaming"
	return "running"
}

class Client {
	messages = []
	states = []
	waiting = []
	answered = new Set()
	mode = undefined

	constructor() {
		this.process = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] })
		this.ended = new Promise((done) => this.process.on("exit", done))
		createInterface({ input: this.process.stdout }).on("line", (line) => {
			appendFileSync(linesFile, line + "\n")
			this.receive(JSON.parse(line))
		})
	}

	send(message) {
		this.process.stdin.write(JSON.stringify(message) + "\n")
	}

	receive(message) {
		if (message.type === "state") {
			this.messages = message.state.clineMessages
			this.mode = message.state.mode ?? this.mode
		} else if (message.type === "messageUpdated") {
			const row = message.clineMessage
			this.messages = this.messages.map((m) => (m.ts === row.ts ? row : m))
		} else return
		const state = detectAgentState(this.messages)
		if (state !== this.states.at(-1)) this.states.push(state)
		this.waiting = this.waiting.filter((check) => !check())
	}

	until(condition) {
		return new Promise((done) => {
			const check = () => {
				const found = condition(this)
				if (found) done(found)
				return found
			}
			if (!check()) this.waiting.push(check)
		})
	}

	// The last message, once it is a complete ask of this kind that was not answered before.
	async asked(kind) {
		const row = await this.until((c) => {
			const last = c.messages.at(-1)
			return last?.type === "ask" && last.ask === kind && !last.partial && !c.answered.has(last.ts) && last
		})
		this.answered.add(row.ts)
		return row
	}

	answer(askResponse, text, images) {
		this.send({ type: "askResponse", askResponse, text, images })
	}
}

const image = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
const client = new Client()
client.send({ type: "webviewDidLaunch" })
await client.until((c) => c.states.at(-1) === "no_task")
client.send({ type: "newTask", text: "write two files" })
const command = await client.asked("command")
client.answer("yesButtonClicked")
await client.asked("tool")
client.answer("noButtonClicked", "not this one", [image])
const question = await client.asked("followup")
client.answer("messageResponse", "blue")
await client.asked("command_output")
client.send({ type: "terminalOperation", terminalOperation: "continue" })
client.send({ type: "terminalOperation", terminalOperation: "abort" })
await client.asked("completion_result")
const answer = client.messages.findLast((m) => m.say === "completion_result" || m.say === "text").text
client.send({ type: "clearTask" })
await client.until((c) => c.messages.length === 0)
client.send({ type: "newTask", text: "take your time" })
await client.until((c) => c.states.at(-1) === "streaming" && c.messages.at(-1).partial)
client.send({ type: "cancelTask" })
await client.asked("resume_task")
client.answer("yesButtonClicked")
await client.asked("completion_result")
const resumed = client.messages.findLast((m) => m.say === "text").text
client.process.stdin.end()
console.log(JSON.stringify({ code: await client.ended, states: client.states, mode: client.mode, command: command.text, question: JSON.parse(question.text).question, answer, resumed }))
